package basics

import "github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"

func volumeCases() []fixture.Case {
	return []fixture.Case{
		{Number: 19, Name: "a volume handle is returned unchanged", Run: handleComesBack},
	}
}

// handleComesBack tests the provider's part; cloud/csi tests the handles of
// PersistentVolumes.
func handleComesBack(f *fixture.Fixture) {
	session, volume := f.Session(fixture.Options{}), f.Volume("data")
	got, err := session.Volumes.DescribeVolume(f.Context(), volume)
	if err != nil || got.Ref != volume || got.SizeBytes != 20*fixture.GiB || got.UID == "" {
		f.Errorf("described %+v, %v; want %+v with a UID and 20 GiB", got, err, volume)
	}
}
