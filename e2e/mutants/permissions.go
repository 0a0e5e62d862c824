package mutants

// ofPermissions returns mistakes with the permissions of accounts: with what is documented and
// enforced, and with what is said about them.
func ofPermissions() []Mutant {
	const accounts = "hub/data/accounts/controller"
	return []Mutant{
		{
			"copy-without-tags", "a copy of a snapshot carries no tags, and the policy denies it",
			"cloud/aws/snapshots.go", "		TagSpecifications: tagged(tags),\n", "",
			"cloud/aws", "TestContract/15_a_copy_in_the_second_region_has_its_own_tags_and_states",
		},
		{
			"source-not-authorized", "the fake of EC2 allows copies of any snapshot",
			"cloud/fake/ec2/snapshots.go", "s.authorize(who, p, existingSnapshot(source), created(", "s.authorize(who, p, created(",
			"cloud/aws", "TestContract/46_the_provider_denies_what_the_documented_permissions_exclude",
		},
		{
			"key-not-authorized", "the fake of S3 encrypts objects with a key without permission to use it",
			"cloud/fake/s3/authorize.go", "if s.KMSKey != \"\" && use != \"\" {", "if s.KMSKey == \"\" && use != \"\" {",
			"cloud/aws/objectstore", "TestKeyOfBucket",
		},
		{
			"link-not-named", "the error of a linked resource names the permission of the request",
			"cloud/azure/apierror/classify.go", "out.Code = q.Linked", "out.Code = q.Permission",
			"cloud/azure", "TestLinkedPermissions/a_disk_of_a_cluster",
		},
		{
			"permission-not-checked", "a permission that the hub needs has no check",
			"cloud/aws/access.go", "{Permission: \"ec2:CopySnapshot\", Unchecked: noSnapshot}, ", "",
			"cloud/aws", "TestPreflight",
		},
		{
			"not-found-is-granted", "permissions that Google Cloud does not test are left out",
			"cloud/gcp/access.go", "return unchecked(asked, \"Google Cloud tests no permissions on what does not exist\"), nil", "return nil, nil",
			"cloud/gcp", "TestSession/what_is_asked_of_the_IAM",
		},
		{
			"unchecked-is-granted", "a permission that was not checked counts as granted",
			accounts + "/authorized.go", "			case c.Unchecked != \"\":\n				open[c.Unchecked] = append(open[c.Unchecked], name)\n			case c.Granted:", "			case c.Granted, c.Unchecked != \"\":",
			accounts, "TestAuthorized/not_everything_could_be_checked",
		},
		{
			"one-region-checked", "permissions are checked in one region of an account",
			accounts + "/reconciler.go", "	f.regions = make([]regionChecks, len(regions))\n", "	regions = regions[:1]\n	f.regions = make([]regionChecks, len(regions))\n",
			accounts, "TestCheckProvider/all_answer",
		},
		{
			"region-hides-others", "a region that does not answer hides the identity of the account",
			accounts + "/reconciler.go", "f.err = r.identity(ctx, f.account.Name, region); !isTransient(f.err) {", "f.err = r.identity(ctx, f.account.Name, region); true {",
			accounts, "TestCheckProvider/the_first_hangs",
		},
	}
}
