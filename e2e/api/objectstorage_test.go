package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const bucket = "spec.objectStorage"

// withBucket sets a bucket with the fields that the provider requires.
func withBucket(provider string, more ...edits) edits {
	storage := edits{bucket + ".bucket": "shop-dumps"}
	switch provider {
	case "aws":
		storage[bucket+".region"] = "eu-west-1"
	case "azure":
		storage[bucket+".storageAccount"] = "shopdumps"
	}
	return join(append([]edits{on(provider), storage}, more...)...)
}

func bucketTexts() map[string]text {
	aws := withBucket("aws")
	return map[string]text{
		bucket + ".bucket":         {limits: limits{3, 63}, make: letters, with: aws},
		bucket + ".prefix":         {limits: limits{1, 128}, make: letters, with: aws},
		bucket + ".region":         {limits: limits{1, 63}, make: letters, with: aws},
		bucket + ".storageAccount": {limits: limits{3, 24}, make: letters, with: withBucket("azure")},
		bucket + ".endpoint":       {limits: limits{8, 512}, make: startingWith("https://a"), with: aws},
		bucket + ".caBundle": {
			limits: limits{0, 87384}, make: encoded, with: withBucket("aws", edits{bucket + ".endpoint": "https://s3.example.com"}),
		},
	}
}

// encoded returns n characters of base64; n is a multiple of four.
func encoded(n int) string { return letters((n + 3) / 4 * 4) }

// bucketCases test the fields of a bucket that each provider requires.
func bucketCases() []testCase {
	const region = "objectStorage.region must be set when provider is aws, and only then"
	const account = "objectStorage.storageAccount must be set when provider is azure, and only then"
	const bundle = "caBundle requires endpoint"
	const pem = "LS0tLS1CRUdJTg=="
	cases := []testCase{
		{name: "bucket on aws", edits: withBucket("aws")},
		{name: "bucket on gcp", edits: withBucket("gcp")},
		{name: "bucket on azure", edits: withBucket("azure")},
		{name: "bucket with all", edits: withBucket("aws", edits{
			bucket + ".prefix": "teams/shops", bucket + ".endpoint": "https://s3.example.com:9000", bucket + ".caBundle": pem,
		})},
		{name: "bucket of aws without a region", edits: withBucket("aws", edits{bucket + ".region": absent()}), field: bucket + ".region", says: region},
		{name: "bucket of gcp with a region", edits: withBucket("gcp", edits{bucket + ".region": "eu"}), field: bucket + ".region", says: region},
		{name: "bucket of azure with a region", edits: withBucket("azure", edits{bucket + ".region": "eu"}), field: bucket + ".region", says: region},
		{
			name: "container without a storage account", edits: withBucket("azure", edits{bucket + ".storageAccount": absent()}),
			field: bucket + ".storageAccount", says: account,
		},
		{name: "storage account on aws", edits: withBucket("aws", edits{bucket + ".storageAccount": "shop"}), field: bucket + ".storageAccount", says: account},
		{name: "storage account on gcp", edits: withBucket("gcp", edits{bucket + ".storageAccount": "shop"}), field: bucket + ".storageAccount", says: account},
		{name: "bundle without an endpoint", edits: withBucket("aws", edits{bucket + ".caBundle": pem}), field: bucket + ".caBundle", says: bundle},
		{name: "no bucket in it", edits: withBucket("aws", edits{bucket + ".bucket": absent()}), field: bucket + ".bucket", says: "Required value"},
		{
			name: "bundle that is not encoded", field: bucket + ".caBundle", says: "must be of type byte",
			edits: withBucket("aws", edits{bucket + ".endpoint": "https://s3.example.com", bucket + ".caBundle": "-----BEGIN"}),
		},
	}
	return slices.Concat(cases, urlCases(bucket+".endpoint", withBucket("aws")), patternCases([]patternRow{
		{bucket + ".bucket", withBucket("aws"), []string{"abc", "shop-dumps.eu", "shop_dumps", "0-0"}, []string{"Shop", "-shop", "shop-", "shop dumps", "shop/dumps", ".shop"}},
		{
			bucket + ".prefix", withBucket("aws"), []string{"a", "teams/Shops", "a.b/c_d/-e"},
			[]string{"/a", "a/", "a//b", "a b", "../a", "a/../b", "a/.b", "a?b", "a#b"},
		},
		{bucket + ".region", withBucket("aws"), []string{"eu-west-1"}, badRegions()},
		{bucket + ".storageAccount", withBucket("azure"), []string{"abc", "shop0"}, []string{"Shop", "shop-dumps", "shop.blob"}},
	}))
}

// dumpStatuses returns statuses with every state of an upload, and one of maximum size.
func dumpStatuses() []any {
	dump := func(object *v1.DumpObject) v1.BackupStatus {
		return v1.BackupStatus{Dump: &v1.DumpFile{
			Claim: letters(253), Job: letters(63), File: letters(128), Bytes: 1 << 50, SHA256: letters(64), Object: object,
		}}
	}
	all := []any{dump(nil), dump(&v1.DumpObject{Bucket: letters(63), Prefix: letters(512)})}
	for _, state := range []v1.DumpObjectState{v1.DumpSending, v1.DumpSent} {
		all = append(all, dump(&v1.DumpObject{Bucket: "b", Prefix: "p", State: state, Attempt: 3}))
	}
	return all
}

// refusedDumps returns statuses of a backup that the API server must refuse.
func refusedDumps() []refusal {
	type m = map[string]any
	dump := func(more m) m {
		file := m{"claim": "dumps"}
		maps.Copy(file, more)
		return m{"dump": file}
	}
	object := func(more m) m {
		it := m{"bucket": "b", "prefix": "p"}
		maps.Copy(it, more)
		return dump(m{"object": it})
	}
	return []refusal{
		{"status.dump.claim", "Required value", m{"dump": m{}}},
		{"status.dump.claim", "should be at least 1 chars long", dump(m{"claim": ""})},
		{"status.dump.bytes", "should be greater than or equal to 0", dump(m{"bytes": -1})},
		{"status.dump.job", "Too long: may not be more than 63 bytes", dump(m{"job": letters(64)})},
		{"status.dump.sha256", "Too long: may not be more than 64 bytes", dump(m{"sha256": letters(65)})},
		{"status.dump.object.bucket", "Required value", dump(m{"object": m{"prefix": "p"}})},
		{"status.dump.object.prefix", "Required value", dump(m{"object": m{"bucket": "b"}})},
		{"status.dump.object.prefix", "Too long: may not be more than 512 bytes", object(m{"prefix": letters(513)})},
		{"status.dump.object.state", "Unsupported value", object(m{"state": "Lost"})},
		{"status.dump.object.attempt", "should be greater than or equal to 0", object(m{"attempt": -1})},
	}
}

// restoredDumps returns statuses with every source of a dump, and one of maximum size.
func restoredDumps() []any {
	var all []any
	for _, from := range []v1.DumpSource{v1.DumpFromClaim, v1.DumpFromBucket} {
		all = append(all, v1.RestoreStatus{Dump: &v1.RestoredDump{
			From: from, Job: letters(63), Claim: letters(253), Started: true, Loaded: true, Attempt: 2,
		}})
	}
	return all
}

func refusedRestoredDumps() []refusal {
	type m = map[string]any
	return []refusal{
		{"status.dump.from", "Required value", m{"dump": m{}}},
		{"status.dump.from", "Unsupported value", m{"dump": m{"from": "Tape"}}},
		{"status.dump.job", "Too long: may not be more than 63 bytes", m{"dump": m{"from": "Claim", "job": letters(64)}}},
		{"status.dump.attempt", "should be greater than or equal to 0", m{"dump": m{"from": "Claim", "attempt": -1}}},
	}
}

// testBucketUpdates adds, changes and removes a bucket.
func (s *server) testBucketUpdates(t *testing.T) {
	k := cloudAccounts()
	stored := s.create(t.Context(), t, k, edits{"metadata.name": "bucket-updates"}, withBucket("aws"))
	s.checkUpdates(t, k, stored, []testCase{
		{name: "nothing"},
		{name: "another bucket", edits: edits{bucket + ".bucket": strings.Repeat("b", 63)}},
		{name: "no bucket", edits: edits{bucket: absent()}},
	})
}
