package csi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// disk is a disk as a block of cloudConfig, or a profile, asks for it.
type disk struct {
	provider         v1.Provider
	kind             string
	iops, throughput *int32
	// key encrypts it; empty is the provider's default key.
	key string
	// plain disables encryption, where the provider allows that.
	plain bool
	// fields are the paths of the fields, for messages.
	fields fields
}

type fields struct{ kind, iops, throughput string }

// configured returns the disk that the provider's block asks for; false without a block.
func configured(p v1.Provider, config v1.CloudConfig) (disk, bool) {
	switch {
	case p == v1.ProviderAWS && config.AWS != nil:
		ebs := config.AWS.EBS
		return disk{
			provider: p, kind: cmp.Or(ebs.Type, "gp3"), iops: ebs.IOPS, throughput: ebs.Throughput,
			key: ebs.KMSKeyID, plain: ebs.Encrypted != nil && !*ebs.Encrypted,
			fields: fields{"spec.cloudConfig.aws.ebs.type", "spec.cloudConfig.aws.ebs.iops", "spec.cloudConfig.aws.ebs.throughput"},
		}, true
	case p == v1.ProviderGCP && config.GCP != nil:
		gcp := config.GCP
		return disk{
			provider: p, kind: cmp.Or(gcp.PDType, "pd-balanced"), iops: gcp.IOPS, throughput: gcp.Throughput,
			key:    gcp.KMSKeyID,
			fields: fields{"spec.cloudConfig.gcp.pdType", "spec.cloudConfig.gcp.iops", "spec.cloudConfig.gcp.throughput"},
		}, true
	case p == v1.ProviderAzure && config.Azure != nil:
		azure := config.Azure
		return disk{
			provider: p, kind: cmp.Or(azure.DiskSKU, "StandardSSD_LRS"), iops: azure.IOPS, throughput: azure.Throughput,
			key:    azure.DiskEncryptionSetID,
			fields: fields{"spec.cloudConfig.azure.diskSku", "spec.cloudConfig.azure.iops", "spec.cloudConfig.azure.throughput"},
		}, true
	default:
		return disk{}, false
	}
}

// check returns what is invalid about a disk; an empty region is not checked.
func (d disk) check(region string) error {
	t, known := diskTypes(d.provider)[d.kind]
	if !known {
		all := slices.Sorted(maps.Keys(diskTypes(d.provider)))
		return fmt.Errorf("%s is %q: give one of %s", d.fields.kind, d.kind, strings.Join(all, ", "))
	}
	if t.needsIOPS && d.iops == nil {
		return fmt.Errorf("%s is missing: %s has no default", d.fields.iops, d.kind)
	}
	if err := t.iops.check(d.fields.iops, d.kind, d.iops); err != nil {
		return err
	}
	if err := t.throughput.check(d.fields.throughput, d.kind, d.throughput); err != nil {
		return err
	}
	if err := d.checkRatio(t); err != nil {
		return err
	}
	if d.key != "" && d.plain {
		return errors.New("spec.cloudConfig.aws.ebs.encrypted is false, with a kmsKeyID: leave one of them out")
	}
	return d.checkKey(region)
}

func (b bounds) check(field, kind string, value *int32) error {
	switch {
	case value == nil:
		return nil
	case b.none():
		return fmt.Errorf("%s is %d: leave it out, %s takes none", field, *value, kind)
	case *value < b.low || *value > b.high:
		return fmt.Errorf("%s is %d: %s takes %d to %d", field, *value, kind, b.low, b.high)
	default:
		return nil
	}
}

// checkRatio compares throughput and operations, as far as both are known.
func (d disk) checkRatio(t diskType) error {
	iops := t.defaultIOPS
	if d.iops != nil {
		iops = *d.iops
	}
	if iops == 0 || d.throughput == nil {
		return nil
	}
	if most := iops / max(t.perThroughput, 1); t.perThroughput > 0 && *d.throughput > most {
		return fmt.Errorf("%s is %d: %s with %d IOPS takes at most %d", d.fields.throughput, *d.throughput, d.kind, iops, most)
	}
	if t.maxPerThroughput > 0 && iops > *d.throughput*t.maxPerThroughput {
		return fmt.Errorf("%s is %d: %s with %d IOPS needs at least %d", d.fields.throughput, *d.throughput, d.kind, iops,
			(iops+t.maxPerThroughput-1)/t.maxPerThroughput)
	}
	return nil
}

// checkKey finds a key of Amazon that is of another region: such a volume would be
// accepted, and vanish while it is made.
func (d disk) checkKey(region string) error {
	if d.provider != v1.ProviderAWS || region == "" || !strings.HasPrefix(d.key, "arn:") {
		return nil
	}
	if parts := strings.Split(d.key, ":"); len(parts) < 4 || parts[3] != region {
		return fmt.Errorf("spec.cloudConfig.aws.ebs.kmsKeyID is not of the cluster's region %s: give alias/<name>, and an alias of that name in each region", region)
	}
	return nil
}

// parameters returns the parameters of the StorageClass, as the provider's driver
// spells them.
func (d disk) parameters() map[string]string {
	out := map[string]string{"csi.storage.k8s.io/fstype": "ext4"}
	number := func(key string, value *int32, unit string) {
		if value != nil {
			out[key] = strconv.Itoa(int(*value)) + unit
		}
	}
	text := func(key, value string) {
		if value != "" {
			out[key] = value
		}
	}
	names := parametersOf(d.provider)
	text(names.kind, d.kind)
	number(names.iops, d.iops, "")
	text(names.key, d.key)
	switch d.provider {
	case v1.ProviderGCP:
		number(names.throughput, d.throughput, "Mi")
	case v1.ProviderAzure:
		number(names.throughput, d.throughput, "")
		if uncached(d.kind) {
			out["cachingMode"] = "None"
		}
	default:
		number(names.throughput, d.throughput, "")
		out["encrypted"] = strconv.FormatBool(!d.plain)
	}
	return out
}

// parameterNames holds the names that a driver has for the common parameters.
type parameterNames struct{ kind, iops, throughput, key string }

func parametersOf(p v1.Provider) parameterNames {
	switch p {
	case v1.ProviderGCP:
		return parameterNames{"type", "provisioned-iops-on-create", "provisioned-throughput-on-create", "disk-encryption-kms-key"}
	case v1.ProviderAzure:
		return parameterNames{"skuName", "DiskIOPSReadWrite", "DiskMBpsReadWrite", "diskEncryptionSetID"}
	default:
		return parameterNames{"type", "iops", "throughput", "kmsKeyId"}
	}
}
