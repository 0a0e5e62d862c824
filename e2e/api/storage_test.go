package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Blocks of cloudConfig.
const (
	ebsBlock   = "spec.cloudConfig.aws.ebs"
	gcpBlock   = "spec.cloudConfig.gcp"
	azureBlock = "spec.cloudConfig.azure"

	azureKeys = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.Compute/diskEncryptionSets/d"
)

// testStorage tests the definition of the database's volumes.
func (s *server) testStorage(t *testing.T) {
	s.check(t, ecommerceApps(), slices.Concat(profileCases(), ebsCases(), gcpCases(), azureCases(), keyCases()))
	s.namespace(t, "storage")
	k := ecommerceApps()
	const profile, class = "spec.database.storageProfile", "spec.database.storageClassName"
	const keep = "storageProfile cannot be changed: existing volumes keep their class"
	at := edits{"metadata.namespace": "storage"}
	bare := s.create(t.Context(), t, k, at)
	s.checkUpdates(t, k, bare, []testCase{
		{name: "profile given later", edits: edits{profile: "Fast"}, field: profile, says: keep},
		{name: "block given later", edits: block(azureBlock, "diskSku", "Premium_LRS")},
	})
	stored := s.create(t.Context(), t, k, at, edits{"metadata.name": "profiled", profile: "Fast"}, block(ebsBlock, "type", "gp3"))
	s.checkUpdates(t, k, stored, []testCase{
		{name: "nothing"},
		{name: "other profile", edits: edits{profile: "Standard"}, field: profile, says: keep},
		{name: "profile removed", edits: edits{profile: absent()}, field: profile, says: keep},
		{
			name: "class in place of the profile", edits: edits{profile: absent(), class: "gp3"}, field: profile, says: keep,
			also: class,
		},
		{name: "other block", edits: block(ebsBlock, "type", "io2", "iops", 5000)},
		{name: "block removed", edits: edits{"spec.cloudConfig": absent()}},
	})
}

// block returns a block of cloudConfig with the given fields.
func block(path string, fields ...any) edits {
	values := map[string]any{}
	for pair := range slices.Chunk(fields, 2) {
		if number, is := pair[1].(int); is {
			pair[1] = int64(number)
		}
		values[fmt.Sprint(pair[0])] = pair[1]
	}
	return edits{path: values}
}

func profileCases() []testCase {
	const profile, class = "spec.database.storageProfile", "spec.database.storageClassName"
	return []testCase{
		{name: "profile", edits: edits{profile: "Archive"}},
		{name: "profile and block", edits: join(edits{profile: "Fast"}, block(gcpBlock, "pdType", "pd-ssd"))},
		{name: "class and block", edits: join(edits{class: "gp3"}, block(gcpBlock, "pdType", "pd-ssd"))},
		{
			name: "profile and class", edits: edits{profile: "Fast", class: "gp3"},
			field: profile, says: "storageProfile must be absent when storageClassName is set",
		},
		{name: "empty blocks", edits: edits{"spec.cloudConfig": map[string]any{"aws": map[string]any{}, "gcp": map[string]any{}, "azure": map[string]any{}}}},
		{name: "as documented", edits: join(
			block(ebsBlock, "type", "gp3", "iops", 3000, "throughput", 125, "encrypted", true),
			block(gcpBlock, "pdType", "pd-ssd"), block(azureBlock, "diskSku", "Premium_LRS"),
		)},
	}
}

// refusedFields returns cases whose blocks are refused for one field, with one message.
func refusedFields(path, field, says string, blocks ...edits) []testCase {
	var cases []testCase
	for _, b := range blocks {
		cases = append(cases, testCase{name: fmt.Sprintf("%s %v", field, b[path]), edits: b, field: path + "." + field, says: says})
	}
	return cases
}

func ebsCases() []testCase {
	with := func(fields ...any) edits { return block(ebsBlock, fields...) }
	var cases []testCase
	for _, b := range []edits{
		with("iops", 3000), with("type", "gp3", "iops", 80000, "throughput", 2000), with("throughput", 750),
		with("type", "io1", "iops", 64000), with("type", "io2", "iops", 256000), with("type", "st1"), with("type", "gp2", "encrypted", false),
		with("encrypted", true, "kmsKeyID", "alias/shop"), with("kmsKeyID", "alias/shop"),
	} {
		cases = append(cases, testCase{name: fmt.Sprint(b[ebsBlock]), edits: b})
	}
	return slices.Concat(cases,
		refusedFields(ebsBlock, "iops", "iops of gp3 must be 3000 to 80000",
			with("iops", 2999), with("type", "gp3", "iops", 80001)),
		refusedFields(ebsBlock, "iops", "iops of io1 must be at most 64000", with("type", "io1", "iops", 64001)),
		refusedFields(ebsBlock, "iops", "iops must be set when type is io1 or io2", with("type", "io1"), with("type", "io2")),
		refusedFields(ebsBlock, "iops", "iops must be absent when type is gp2, st1 or sc1: the size determines it",
			with("type", "gp2", "iops", 3000), with("type", "st1", "iops", 3000), with("type", "sc1", "iops", 3000)),
		refusedFields(ebsBlock, "throughput", "throughput must be absent unless type is gp3",
			with("type", "io2", "iops", 5000, "throughput", 125), with("type", "st1", "throughput", 125)),
		refusedFields(ebsBlock, "throughput", "throughput must be at most a quarter of iops, which are 3000 when absent",
			with("throughput", 751), with("type", "gp3", "iops", 4000, "throughput", 1001)),
		refusedFields(ebsBlock, "encrypted", "encrypted must not be false when kmsKeyID is set",
			with("encrypted", false, "kmsKeyID", "alias/shop")),
	)
}

func gcpCases() []testCase {
	with := func(fields ...any) edits { return block(gcpBlock, fields...) }
	const iops, throughput = "iops", "throughput"
	var cases []testCase
	for _, b := range []edits{
		with("pdType", "pd-ssd"), with("pdType", "pd-extreme", iops, 10000), with("pdType", "pd-extreme", iops, 120000),
		with("pdType", "hyperdisk-balanced", iops, 160000, throughput, 2400), with("pdType", "hyperdisk-balanced", iops, 3000, throughput, 140),
		with("pdType", "hyperdisk-extreme", iops, 350000), with("pdType", "hyperdisk-throughput", throughput, 20),
	} {
		cases = append(cases, testCase{name: fmt.Sprint(b[gcpBlock]), edits: b})
	}
	return slices.Concat(cases,
		refusedFields(gcpBlock, iops, "iops must be absent unless pdType is pd-extreme, hyperdisk-balanced or hyperdisk-extreme",
			with(iops, 3000), with("pdType", "pd-ssd", iops, 3000), with("pdType", "hyperdisk-throughput", iops, 3000)),
		refusedFields(gcpBlock, iops, "iops of hyperdisk-balanced must be 3000 to 160000",
			with("pdType", "hyperdisk-balanced", iops, 2999), with("pdType", "hyperdisk-balanced", iops, 160001)),
		refusedFields(gcpBlock, iops, "iops of pd-extreme must be 10000 to 120000",
			with("pdType", "pd-extreme", iops, 9999), with("pdType", "pd-extreme", iops, 120001)),
		refusedFields(gcpBlock, throughput, "throughput must be absent unless pdType is hyperdisk-balanced or hyperdisk-throughput",
			with(throughput, 140), with("pdType", "pd-ssd", throughput, 140), with("pdType", "hyperdisk-extreme", throughput, 140)),
		refusedFields(gcpBlock, throughput, "throughput of hyperdisk-balanced must be at least 140",
			with("pdType", "hyperdisk-balanced", throughput, 139)),
	)
}

func azureCases() []testCase {
	with := func(fields ...any) edits { return block(azureBlock, fields...) }
	const v2, ultra = "PremiumV2_LRS", "UltraSSD_LRS"
	const quarter = "throughput must be at most a quarter of iops, which are 3000 with PremiumV2_LRS and 500 with UltraSSD_LRS when absent"
	var cases []testCase
	for _, b := range []edits{
		with("diskSku", "Premium_LRS"), with("diskSku", v2, "iops", 3000, "throughput", 125), with("diskSku", v2, "iops", 80000, "throughput", 2000),
		with("diskSku", v2, "throughput", 750), with("diskSku", ultra, "iops", 400000, "throughput", 10000), with("diskSku", ultra, "throughput", 125),
	} {
		cases = append(cases, testCase{name: fmt.Sprint(b[azureBlock]), edits: b})
	}
	return slices.Concat(cases,
		refusedFields(azureBlock, "iops", "iops must be absent unless diskSku is PremiumV2_LRS or UltraSSD_LRS",
			with("iops", 3000), with("diskSku", "Premium_LRS", "iops", 3000)),
		refusedFields(azureBlock, "iops", "iops of PremiumV2_LRS must be 3000 to 80000",
			with("diskSku", v2, "iops", 2999), with("diskSku", v2, "iops", 80001)),
		refusedFields(azureBlock, "throughput", "throughput must be absent unless diskSku is PremiumV2_LRS or UltraSSD_LRS",
			with("throughput", 125), with("diskSku", "StandardSSD_ZRS", "throughput", 125)),
		refusedFields(azureBlock, "throughput", "throughput of PremiumV2_LRS must be 125 to 2000",
			with("diskSku", v2, "throughput", 124), with("diskSku", v2, "iops", 80000, "throughput", 2001)),
		refusedFields(azureBlock, "throughput", quarter,
			with("diskSku", v2, "throughput", 751), with("diskSku", ultra, "throughput", 126), with("diskSku", ultra, "iops", 400, "throughput", 101)),
	)
}

// keyCases test the IDs of encryption keys.
func keyCases() []testCase {
	var cases []testCase
	for field, names := range map[string][2][]string{
		ebsBlock + ".kmsKeyID": {
			{"alias/shop", "arn:aws:kms:eu-west-1:123456789012:key/mrk-0a", "arn:aws-us-gov:kms:us-gov-east-1:123456789012:alias/team/shop"},
			{"", "shop", "arn:aws:kms:eu-west-1:1234:key/a", "arn:aws:ec2:eu-west-1:123456789012:key/a", "alias/shop key"},
		},
		gcpBlock + ".kmsKeyID": {
			{"projects/p/locations/europe-west1/keyRings/r/cryptoKeys/k", "projects/example.com:p/locations/eu/keyRings/r/cryptoKeys/k"},
			{"", "k", "projects/p/locations/l/keyRings/r", "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1"},
		},
		azureBlock + ".diskEncryptionSetID": {
			{azureKeys},
			{"", "d", strings.Replace(azureKeys, "diskEncryptionSets", "disks", 1), azureKeys + "/x"},
		},
	} {
		for _, name := range names[0] {
			cases = append(cases, testCase{name: field + " " + name, edits: edits{field: name}})
		}
		for _, name := range names[1] {
			cases = append(cases, testCase{name: field + " " + name, edits: edits{field: name}, field: field, says: "should match '^"})
		}
	}
	return cases
}

// roomFor returns the edits with which a number of cloudConfig may have any value within
// its bounds; nothing for other fields.
func roomFor(path string) edits {
	switch path {
	case ebsBlock + ".iops":
		return block(ebsBlock, "type", "io2")
	case ebsBlock + ".throughput":
		return block(ebsBlock, "type", "gp3", "iops", 80000)
	case gcpBlock + ".iops":
		return block(gcpBlock, "pdType", "hyperdisk-extreme")
	case gcpBlock + ".throughput":
		return block(gcpBlock, "pdType", "hyperdisk-throughput")
	case azureBlock + ".iops":
		return block(azureBlock, "diskSku", "UltraSSD_LRS")
	case azureBlock + ".throughput":
		return block(azureBlock, "diskSku", "UltraSSD_LRS", "iops", 400000)
	default:
		return nil
	}
}
