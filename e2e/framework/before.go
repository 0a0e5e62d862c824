package framework

const (
	// Before is the version of the release before, with which tests of upgrades and of skew begin.
	Before = "v0.0.9"
	// BeforeCommit is the tree of the release before, until there is one. Its pod templates are the base of
	// TestPodTemplates in spoke/render.
	BeforeCommit = "174eed76"
)
