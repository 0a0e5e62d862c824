package api_test

import (
	"slices"
	"strings"
	"testing"
)

// Names with the maximum length that providers use.
const (
	pool         = "projects/123456789012/locations/global/workloadIdentityPools/shopfleet/providers/hub-cluster"
	subscription = "00000000-0000-0000-0000-00000000000a"
	cryptoKey    = "projects/shop-prod/locations/us-east1/keyRings/shop/cryptoKeys/k"
	globalKey    = "projects/shop-prod/locations/global/keyRings/shop/cryptoKeys/k"
	diskSet      = "/subscriptions/" + subscription + "/resourceGroups/keys/providers/Microsoft.Compute/diskEncryptionSets/"
)

// on changes the provider of the sample, whose credentials are Federated.
func on(provider string) edits {
	switch provider {
	case "gcp":
		return edits{
			"spec.provider": "gcp", "spec.aws": absent(),
			"spec.gcp.project": "shop-prod", "spec.gcp.workloadIdentityProvider": pool,
		}
	case "azure":
		return edits{
			"spec.provider": "azure", "spec.aws": absent(),
			"spec.azure.subscriptionID": subscription, "spec.azure.resourceGroups": map[string]any{"westeurope": "shopfleet"},
			"spec.azure.tenantID": subscription, "spec.azure.clientID": subscription,
		}
	default:
		return edits{"spec.provider": provider}
	}
}

// withSecret sets credentials of type Secret.
func withSecret() edits {
	return edits{"spec.credentials.type": "Secret", "spec.credentials.secretRef.name": "keys"}
}

func ambient() edits { return edits{"spec.credentials.type": "Ambient"} }

func accountTexts() map[string]text {
	gcp, azure := on("gcp"), on("azure")
	poolOf := func(n int) string {
		return "projects/" + strings.Repeat("1", n-len(pool)+len("123456789012")) + strings.TrimPrefix(pool, "projects/123456789012")
	}
	uuid := func(n int) string { return (subscription + "0")[:n] }
	return merge(bucketTexts(), map[string]text{
		"spec.credentials.secretRef.name": {limits: limits{1, 253}, make: letters, with: withSecret()},
		"spec.regions[]":                  {limits: limits{1, 63}, make: letters},
		"spec.endpoint":                   {limits: limits{8, 512}, make: startingWith("https://a")},
		"spec.aws.accountID":              {limits: limits{0, 12}, make: startingWith("1")},
		"spec.aws.roleARN":                {limits: limits{0, 2048}, make: startingWith("arn:aws:iam::123456789012:role/")},
		"spec.aws.externalID":             {limits: limits{2, 1224}, make: letters},
		"spec.aws.keys{}":                 {limits: limits{0, 2048}, make: startingWith("alias/")},
		"spec.gcp.keys{}":                 {limits: limits{0, 512}, make: startingWith(globalKey), with: gcp},
		"spec.azure.keys{}":               {limits: limits{0, 512}, make: startingWith(diskSet), with: azure},
		"spec.deletion.roleARN":           {limits: limits{0, 2048}, make: startingWith("arn:aws:iam::123456789012:role/")},
		"spec.deletion.serviceAccount": {
			limits: limits{0, 128}, with: gcp,
			make: func(n int) string { return letters(n-len("@p.iam.gserviceaccount.com")) + "@p.iam.gserviceaccount.com" },
		},
		"spec.deletion.clientID":            {limits: limits{0, 36}, make: func(n int) string { return ("00000000-0000-0000-0000-00000000000b0")[:n] }, with: azure},
		"spec.gcp.project":                  {limits: limits{0, 30}, make: letters, with: gcp},
		"spec.gcp.workloadIdentityProvider": {limits: limits{0, 256}, make: poolOf, with: gcp},
		"spec.gcp.serviceAccount": {
			limits: limits{0, 128}, with: gcp,
			make: func(n int) string { return letters(n-len("@p.iam.gserviceaccount.com")) + "@p.iam.gserviceaccount.com" },
		},
		"spec.azure.subscriptionID":   {limits: limits{0, 36}, make: uuid, with: azure},
		"spec.azure.resourceGroups{}": {limits: limits{0, 90}, make: letters, with: azure},
		"spec.azure.tenantID":         {limits: limits{0, 36}, make: uuid, with: azure},
		"spec.azure.clientID":         {limits: limits{0, 36}, make: uuid, with: azure},
	})
}

// cloudEnumCase returns the case of a value that requires other fields, or that a rule
// refuses although the enum has it.
func cloudEnumCase(k kind, path, value string) (testCase, bool) {
	tc := testCase{name: path + " " + value}
	switch {
	case k.name == "CloudAccount" && path == "spec.provider":
		tc.edits = on(value)
		if value == "other" {
			tc.edits = join(tc.edits, edits{"spec.aws": absent()})
			tc.field, tc.says = path, "provider must be aws, gcp or azure: clusters of other providers need no account"
		}
	case k.name == "CloudAccount" && value == "Secret":
		tc.edits = withSecret()
	case k.name == "Backup" && value == "Auto":
		tc.edits = edits{path: value}
		tc.field, tc.says = path, "method must be Snapshot or Dump"
	case k.name == "Backup" && value == "Delete":
		tc.edits = edits{path: value}
		tc.field, tc.says = path, "deletion must be Retain when a Backup is created: to delete its data as well, set Delete on the existing Backup just before you delete it"
	default:
		return testCase{}, false
	}
	return tc, true
}

func (s *server) testCloudAccount(t *testing.T) {
	s.check(t, cloudAccounts(), slices.Concat(blockCases(), credentialsCases(), deletionIdentityCases(), keyMapCases(), resourceGroupCases(), urlCases("spec.endpoint", nil),
		accountPatternCases(), bucketCases(), referenceCases("spec.credentials.secretRef.name", withSecret())))
}

// blockCases test the block that each provider requires.
func blockCases() []testCase {
	providers := []string{"aws", "gcp", "azure"}
	blocks := map[string]map[string]any{
		"aws":   {"accountID": "123456789012", "roleARN": "arn:aws:iam::123456789012:role/shopfleet"},
		"gcp":   {"project": "shop-prod", "workloadIdentityProvider": pool},
		"azure": {"subscriptionID": subscription, "resourceGroups": map[string]any{"westeurope": "shopfleet"}, "tenantID": subscription, "clientID": subscription},
	}
	var cases []testCase
	for _, provider := range providers {
		cases = append(cases,
			testCase{name: provider, edits: on(provider)},
			testCase{
				name: provider + " without its block", edits: edits{"spec.provider": provider, "spec.aws": absent()},
				field: "spec." + provider, says: provider + " must be set when provider is " + provider + ", and only then",
			})
		for _, other := range providers {
			if other != provider {
				cases = append(cases, testCase{
					name: other + "'s block on " + provider, edits: join(on(provider), edits{"spec." + other: blocks[other]}),
					field: "spec." + other, says: other + " must be set when provider is " + other + ", and only then",
				})
			}
		}
	}
	for field, with := range map[string]edits{
		"spec": nil, "spec.provider": nil, "spec.credentials": nil, "spec.credentials.type": nil, "spec.aws.accountID": nil,
		"spec.gcp.project": on("gcp"), "spec.azure.subscriptionID": on("azure"), "spec.azure.resourceGroups": on("azure"),
	} {
		cases = append(cases, testCase{name: "no " + field, edits: join(with, edits{field: absent()}), field: field, says: "Required value"})
	}
	return cases
}

// credentialsCases test the fields that each type of credentials requires for each
// provider.
func credentialsCases() []testCase {
	const secret, role, provider = "spec.credentials.secretRef", "spec.aws.roleARN", "spec.gcp.workloadIdentityProvider"
	const onlyThen = "secretRef must be set when type is Secret, and only then"
	const ids = "azure.tenantID and azure.clientID must be set unless credentials.type is Ambient"
	cases := []testCase{
		{name: "ambient without a role", edits: join(ambient(), edits{role: absent()})},
		{name: "ambient with a role", edits: ambient()},
		{name: "keys without a role", edits: join(withSecret(), edits{role: absent()})},
		{name: "role with an external ID", edits: edits{"spec.aws.externalID": "a:b/c"}},
		{name: "ambient on gcp", edits: join(on("gcp"), ambient(), edits{provider: absent()})},
		{name: "ambient on azure", edits: join(on("azure"), ambient(), edits{"spec.azure.tenantID": absent(), "spec.azure.clientID": absent()})},
		{name: "keys on gcp", edits: join(on("gcp"), withSecret(), edits{provider: absent()})},
		{name: "keys on azure", edits: join(on("azure"), withSecret())},
		{name: "keys without a Secret", edits: edits{"spec.credentials.type": "Secret"}, field: secret, says: onlyThen},
		{name: "token with a Secret", edits: edits{secret: map[string]any{"name": "keys"}}, field: secret, says: onlyThen},
		{name: "ambient with a Secret", edits: join(ambient(), edits{secret: map[string]any{"name": "keys"}}), field: secret, says: onlyThen},
		{
			name: "Secret without a name", edits: edits{"spec.credentials.type": "Secret", secret: map[string]any{}},
			field: secret + ".name", says: "Required value",
		},
		{
			name: "token without a role", edits: edits{role: absent()},
			field: role, says: "aws.roleARN must be set when credentials.type is Federated: it is the role that the hub's token is exchanged for",
		},
		{
			name: "token without a pool", edits: join(on("gcp"), edits{provider: absent()}),
			field: provider, says: "gcp.workloadIdentityProvider must be set when credentials.type is Federated: it accepts the hub's token",
		},
	}
	for _, with := range []edits{nil, withSecret()} {
		for _, field := range []string{"spec.azure.tenantID", "spec.azure.clientID"} {
			cases = append(cases, testCase{
				name: "azure without " + field, edits: join(on("azure"), with, edits{field: absent()}), field: "spec.azure", says: ids,
			})
		}
	}
	return cases
}

// deletionIdentityCases test the identity for deletions, which is another one than that of the account.
func deletionIdentityCases() []testCase {
	const role, account, client = "spec.deletion.roleARN", "spec.deletion.serviceAccount", "spec.deletion.clientID"
	const arn, email, other = "arn:aws:iam::123456789012:role/deletion", "deletion@shop-prod.iam.gserviceaccount.com", "00000000-0000-0000-0000-00000000000b"
	const same = "deletion must be another identity than that of the account: remove it to use one for all"
	const federated = "deletion needs credentials.type Federated on gcp and azure: the hub's token is exchanged for that identity"
	only := func(provider string) string { return " must be set when provider is " + provider + ", and only then" }
	const writing = "spec.gcp.serviceAccount"
	return []testCase{
		{name: "deletion on aws", edits: edits{role: arn}},
		{name: "deletion on aws with keys", edits: join(withSecret(), edits{role: arn, "spec.aws.roleARN": absent()})},
		{name: "deletion on gcp", edits: join(on("gcp"), edits{account: email})},
		{name: "deletion on azure", edits: join(on("azure"), edits{client: other})},
		{name: "empty deletion on aws", edits: edits{"spec.deletion": map[string]any{}}, field: role, says: "deletion.roleARN" + only("aws")},
		{name: "empty deletion on gcp", edits: join(on("gcp"), edits{"spec.deletion": map[string]any{}}), field: account, says: "deletion.serviceAccount" + only("gcp")},
		{name: "empty deletion on azure", edits: join(on("azure"), edits{"spec.deletion": map[string]any{}}), field: client, says: "deletion.clientID" + only("azure")},
		{name: "role on gcp", edits: join(on("gcp"), edits{account: email, role: arn}), field: role, says: "deletion.roleARN" + only("aws")},
		{name: "service account on aws", edits: edits{account: email, role: arn}, field: account, says: "deletion.serviceAccount" + only("gcp")},
		{name: "client on aws", edits: edits{client: other, role: arn}, field: client, says: "deletion.clientID" + only("azure")},
		{name: "deletion with keys on gcp", edits: join(on("gcp"), withSecret(), edits{account: email}), field: "spec.deletion", says: federated},
		{name: "deletion with an ambient identity on azure", edits: join(on("azure"), ambient(), edits{client: other}), field: "spec.deletion", says: federated},
		{name: "the same role", edits: edits{role: arn, "spec.aws.roleARN": arn}, field: "spec.deletion", says: same},
		{name: "the same service account", edits: join(on("gcp"), edits{account: email, writing: email}), field: "spec.deletion", says: same},
		{name: "the same client", edits: join(on("azure"), edits{client: subscription}), field: "spec.deletion", says: same},
	}
}

// keyMapCases test the keys for regions: each is in its region, as far as its name tells.
func keyMapCases() []testCase {
	const aws, gcp, azure = "spec.aws.keys", "spec.gcp.keys", "spec.azure.keys"
	const arn = "arn:aws:kms:eu-west-1:123456789012:key/00000000-0000-0000-0000-00000000000a"
	const awsSays = "a key must be in the region that it is for: set the ARN of a key there, or alias/<name>"
	const gcpSays = "a key must be in the region that it is for: set one there, or one of a location that is not a single region, such as global"
	const azureSays = "keys must be disk encryption sets of the subscription subscriptionID"
	const longRegion = "keys must have regions of at most 63 characters"
	key := func(field, region, value string) edits {
		provider, _, _ := strings.Cut(strings.TrimPrefix(field, "spec."), ".")
		return join(on(provider), edits{field: map[string]any{region: value}})
	}
	long, set := strings.Repeat("r", 64), diskSet+"eu"
	cases := []testCase{
		{name: "key of a long region on aws", edits: key(aws, long, "alias/shop"), field: aws, says: longRegion},
		{name: "key of a long region on gcp", edits: key(gcp, long, globalKey), field: gcp, says: longRegion},
		{name: "key of a long region on azure", edits: key(azure, long, set), field: azure, says: longRegion},
		{name: "ARN of another region", edits: key(aws, "eu-central-1", arn), field: aws, says: awsSays},
		{name: "ARN of another region, which its alias names", edits: key(aws, "eu-central-1", strings.Replace(arn, "key/0", "alias/eu-central-1-0", 1)), field: aws, says: awsSays},
		{name: "key of another region on gcp", edits: key(gcp, "us-central1", cryptoKey+"us-central1"), field: gcp, says: gcpSays},
		{name: "set of another subscription", edits: key(azure, "eastus", strings.Replace(set, "a/", "b/", 1)), field: azure, says: azureSays},
		{name: "set in another spelling", edits: key(azure, "eastus", strings.Replace(set, subscription, strings.ToUpper(subscription), 1))},
	}
	for _, good := range []struct{ field, region, key string }{
		{aws, "eu-west-1", arn}, {aws, "eu-west-1", "alias/shop"}, {aws, "us-gov-west-1", "arn:aws-us-gov:kms:us-gov-west-1:123456789012:alias/shop"},
		{gcp, "us-east1", cryptoKey}, {gcp, "us-east1", globalKey},
		{gcp, "eu", strings.Replace(cryptoKey, "us-east1", "eur4", 1)}, {azure, "eastus", set},
	} {
		cases = append(cases, testCase{name: "key " + good.key + " for " + good.region, edits: key(good.field, good.region, good.key)})
	}
	for _, bad := range []struct{ field, key string }{
		{aws, ""}, {aws, "shop"}, {aws, "arn:aws:kms:eu-west-1:1234:key/a"}, {aws, strings.TrimPrefix(arn, "arn:aws:kms:eu-west-1:123456789012:key/")},
		{gcp, "//cloudkms.googleapis.com/" + cryptoKey}, {gcp, cryptoKey + "/cryptoKeyVersions/1"}, {gcp, "https://cloudkms.googleapis.com/v1/" + cryptoKey},
		{azure, ""}, {azure, "shop"}, {azure, strings.Replace(set, "diskEncryptionSets", "disks", 1)},
	} {
		cases = append(cases, testCase{name: bad.field + " " + bad.key, edits: key(bad.field, "us-east1", bad.key), field: bad.field + ".us-east1", says: "should match '^", among: true})
	}
	return cases
}

// resourceGroupCases test the resource groups of Azure: one for all regions, or one for each.
func resourceGroupCases() []testCase {
	type m = map[string]any
	const field = "spec.azure.resourceGroups"
	groups := func(all m, regions ...any) edits {
		e := join(on("azure"), edits{field: all, "spec.regions": absent()})
		if regions != nil {
			e["spec.regions"] = regions
		}
		return e
	}
	const each = "azure.resourceGroups must have an entry for each of regions, or one entry for all"
	two := m{"westeurope": "eu", "eastus": "us"}
	cases := []testCase{
		{name: "one group for all regions", edits: groups(m{"westeurope": "shopfleet"}, "eastus", "southeastasia")},
		{name: "a group for each region", edits: groups(two, "eastus", "westeurope")},
		{name: "groups for more regions", edits: groups(two, "eastus")},
		{name: "groups for any regions", edits: groups(two)},
		{name: "a region without a group", edits: groups(two, "eastus", "southeastasia"), field: field, says: each},
		{name: "no groups", edits: groups(m{}), field: field, says: "should have at least 1 properties"},
		{name: "longest group", edits: groups(m{strings.Repeat("r", 63): strings.Repeat("g", 90)})},
		{name: "long group", edits: groups(m{"westeurope": strings.Repeat("g", 91)}), field: field + ".westeurope", says: "may not be more than 90"},
		{name: "group of a long region", edits: groups(m{strings.Repeat("r", 64): "shopfleet"}), field: field, says: "resourceGroups must have regions of at most 63 characters"},
	}
	for _, good := range []string{"a", "shop_fleet.(eu)-1"} {
		cases = append(cases, testCase{name: "group " + good, edits: groups(m{"westeurope": good})})
	}
	for _, bad := range []string{"", "shop.", "shop fleet", "shop/fleet"} {
		cases = append(cases, testCase{name: "group " + bad, edits: groups(m{"westeurope": bad}), field: field + ".westeurope", says: "should match '^"})
	}
	return cases
}

// urlCases test the base URL of an API.
func urlCases(field string, with edits) []testCase {
	var cases []testCase
	for _, url := range []string{
		"https://ec2.eu-west-1.amazonaws.com", "https://10.0.0.7:8443/ec2", "http://127.0.0.1:8080", "http://localhost", "http://localhost/arm",
		"http://[::1]:8080/",
	} {
		cases = append(cases, testCase{name: field + " " + url, edits: join(with, edits{field: url})})
	}
	for _, url := range []string{
		"http://ec2.example.com", "http://localhost.example.com", "http://127.0.0.1.example.com", "http://127.0.0.10", "ftp://example.com",
		"https://user@example.com", "https://example.com?a=b", "https://example.com#a", "https://example .com", "https://example.com\n", "https://",
		"http://localhost:80@example.com", "//example.com", " https://example.com",
	} {
		cases = append(cases, testCase{
			name: field + " " + url, edits: join(with, edits{field: url}), field: field,
			says: "endpoint must be an https URL without user, query or fragment, or http on a loopback address",
		})
	}
	return cases
}

// patternRow is a field with a pattern, values that match it, and values that do not.
type patternRow struct {
	field string
	with  edits
	good  []string
	bad   []string
}

// accountPatternCases test names that providers assign.
func accountPatternCases() []testCase {
	return patternCases([]patternRow{
		{"spec.aws.accountID", nil, []string{"000000000000"}, []string{"12345678901", "12345678901a", ""}},
		{
			"spec.aws.roleARN", nil,
			[]string{"arn:aws-cn:iam::123456789012:role/team/shop", "arn:aws:iam::123456789012:role/a+b=c,d.e@f-g_h"},
			[]string{"", "shopfleet", "arn:aws:iam::123456789012:user/shop", "arn:aws:iam::1234:role/shop", "arn:aws:iam::123456789012:role/"},
		},
		{"spec.aws.externalID", nil, []string{"42", "team:shop/eu"}, []string{"a b", "a#b"}},
		{"spec.gcp.project", on("gcp"), []string{"abcdef", "shop-prod-1"}, []string{"shop", "1shop-prod", "shop-prod-", "Shop-prod", ""}},
		{
			"spec.gcp.workloadIdentityProvider", on("gcp"), []string{pool},
			[]string{"", "hub-cluster", "//iam.googleapis.com/" + pool, strings.Replace(pool, "123456789012", "shop-prod", 1), pool + "/x"},
		},
		{
			"spec.deletion.roleARN", nil, []string{"arn:aws-cn:iam::123456789012:role/team/shop"}, []string{"", "shopfleet", "arn:aws:iam::123456789012:user/shop"},
		},
		{"spec.deletion.clientID", on("azure"), []string{"00000000-0000-0000-0000-00000000000b"}, []string{"shopfleet"}},
		{"spec.deletion.serviceAccount", on("gcp"), []string{"deletion@shop-prod.iam.gserviceaccount.com"}, []string{"deletion", "deletion@example.com"}},
		{
			"spec.gcp.serviceAccount", on("gcp"), []string{"shopfleet@shop-prod.iam.gserviceaccount.com"},
			[]string{"", "shopfleet", "shopfleet@example.com", "Shop@shop-prod.iam.gserviceaccount.com"},
		},
		{
			"spec.azure.subscriptionID", on("azure"), []string{strings.ToUpper(subscription)},
			[]string{"", "production", strings.ReplaceAll(subscription, "-", "")},
		},
		{"spec.azure.tenantID", on("azure"), []string{subscription}, []string{"", "example.onmicrosoft.com"}},
		{"spec.azure.clientID", on("azure"), []string{subscription}, []string{"", "shopfleet"}},
		{"spec.regions[]", nil, []string{"eu-west-1", "westeurope", "eu"}, badRegions()},
	})
}

func patternCases(rows []patternRow) []testCase {
	var cases []testCase
	for _, row := range rows {
		for _, value := range row.good {
			cases = append(cases, testCase{name: row.field + " " + value, edits: join(row.with, edits{row.field: value})})
		}
		for _, value := range row.bad {
			cases = append(cases, testCase{
				name: row.field + " " + value, edits: join(row.with, edits{row.field: value}), field: item(row.field), says: "should match '^",
			})
		}
	}
	return cases
}

// badRegions returns names that would change the host if they became part of a host name.
func badRegions() []string {
	return []string{"EU-west-1", "eu west", "-eu", "eu-", "eu.example.com", "eu/west", "eu#"}
}

func (s *server) testAccountUpdates(t *testing.T) {
	k := cloudAccounts()
	stored := s.create(t.Context(), t, k, edits{"metadata.name": "updates"})
	const says = "provider cannot be changed: create another CloudAccount"
	s.checkUpdates(t, k, stored, []testCase{
		{name: "nothing"},
		{name: "other provider", edits: on("gcp"), field: "spec.provider", says: says},
		{name: "keys", edits: withSecret()},
		{name: "other role", edits: edits{"spec.aws.roleARN": "arn:aws:iam::123456789012:role/other"}},
		{name: "all regions", edits: edits{"spec.regions": absent()}},
	})
}
