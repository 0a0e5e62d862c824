package mutants

// ofFacts returns mistakes with what the hub does not know of a member.
func ofFacts() []Mutant {
	const placement = "hub/placement"
	return []Mutant{
		{
			"unknown-as-mismatch", "a member whose status was lost does not match the placement",
			placement + "/member.go", "		all[i].Region, all[i].Provider = cmp.Or(c.Region, entry.Region), cmp.Or(c.Provider, entry.Provider)\n", "		_ = cmp.Or(entry.Region)\n",
			appPackage, "TestDecideLostFacts",
		},
		{
			"left-while-unknown", "an application leaves a cluster of which nothing is known yet",
			placement + "/placement.go", "	of.stays = v1.ReasonFactsUnknown\n", "",
			placement, "TestUnknownFacts",
		},
	}
}
