package aws

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/shopfleet/shopfleet/cloud"
)

// defaultType is the EBS CSI driver's; EC2's own is older.
const defaultType = "gp3"

// shape returns the request for a volume like those of a StorageClass. Parameters that are
// no property of a volume, as the file system, are for the CSI driver.
func (c *client) shape(spec cloud.VolumeSpec, source cloud.Snapshot) (*ec2.CreateVolumeInput, error) {
	size := (spec.SizeBytes + gib - 1) / gib
	switch {
	case spec.SizeBytes == 0:
		size = source.SizeBytes / gib
	case spec.SizeBytes < source.SizeBytes:
		return nil, refusal("EnsureVolume", cloud.ClassInvalid, "SizeBytes",
			fmt.Sprintf("a volume of %d bytes is smaller than its snapshot of %d", spec.SizeBytes, source.SizeBytes))
	}
	p := parameters{values: map[string]string{}}
	for key, value := range spec.Class {
		p.values[strings.ToLower(key)] = value
	}
	in := &ec2.CreateVolumeInput{
		AvailabilityZone: aws.String(spec.Zone), SnapshotId: aws.String(spec.Snapshot.ID), Size: p.int32("size", size),
		VolumeType: types.VolumeType(defaultType), Iops: p.number("iops"), Throughput: p.number("throughput"),
		VolumeInitializationRate: p.number("volumeinitializationrate"),
	}
	if kind := p.values["type"]; kind != "" {
		in.VolumeType = types.VolumeType(kind)
	}
	if each := p.number("iopspergb"); each != nil {
		if in.Iops != nil {
			p.fail("iopsPerGB", "is not allowed with iops")
		}
		in.Iops = p.int32("iopsPerGB", int64(*each)*size)
	}
	key := p.values["kmskeyid"]
	if key == "" {
		key = string(c.account.Keys[c.config.Region])
	}
	if key != "" {
		in.KmsKeyId = aws.String(key)
	}
	if key != "" || source.Encrypted || strings.EqualFold(p.values["encrypted"], "true") {
		in.Encrypted = aws.Bool(true)
	}
	return in, p.wrong
}

// parameters holds the parameters of a StorageClass by lower-case name; the EBS CSI
// driver ignores case.
type parameters struct {
	values map[string]string
	wrong  error
}

func (p *parameters) fail(name, what string) {
	if p.wrong == nil {
		p.wrong = refusal("EnsureVolume", cloud.ClassInvalid, "Class", fmt.Sprintf("parameter %s %s", name, what))
	}
}

// number reads a parameter; nil when it is not there.
func (p *parameters) number(name string) *int32 {
	text, ok := p.values[name]
	if !ok || text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.fail(name, fmt.Sprintf("is no number: %q", text))
	}
	return p.int32(name, n)
}

// int32 returns a number in the type of EC2's requests.
func (p *parameters) int32(name string, n int64) *int32 {
	if n < 1 || n > math.MaxInt32 {
		p.fail(name, fmt.Sprintf("is out of range: %d", n))
		return nil
	}
	return aws.Int32(int32(n))
}
