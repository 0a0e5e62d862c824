package csi

import (
	"errors"
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func ebs(kind string, iops, throughput *int32) v1.CloudConfig {
	return v1.CloudConfig{AWS: &v1.AWSConfig{EBS: v1.EBSConfig{Type: kind, IOPS: iops, Throughput: throughput}}}
}

func pd(kind string, iops, throughput *int32) v1.CloudConfig {
	return v1.CloudConfig{GCP: &v1.GCPConfig{PDType: kind, IOPS: iops, Throughput: throughput}}
}

func managed(sku string, iops, throughput *int32) v1.CloudConfig {
	return v1.CloudConfig{Azure: &v1.AzureConfig{DiskSKU: sku, IOPS: iops, Throughput: throughput}}
}

func TestConfigs(t *testing.T) {
	t.Parallel()
	const awsField, gcpField, azureField = "spec.cloudConfig.aws.ebs.", "spec.cloudConfig.gcp.", "spec.cloudConfig.azure."
	n := func(value int32) *int32 { return new(value) }
	// says is the text that the error must contain; empty: no error.
	for name, tt := range map[string]struct {
		config v1.CloudConfig
		says   string
	}{
		"nothing":                    {v1.CloudConfig{}, ""},
		"everything":                 {everything(), ""},
		"gp3 least":                  {ebs("gp3", n(3000), n(125)), ""},
		"gp3 most":                   {ebs("", n(80000), n(2000)), ""},
		"gp3 iops too few":           {ebs("", n(2999), nil), awsField + "iops is 2999: gp3 takes 3000 to 80000"},
		"gp3 iops too many":          {ebs("gp3", n(80001), nil), awsField + "iops is 80001"},
		"gp3 throughput too little":  {ebs("gp3", nil, n(124)), awsField + "throughput is 124: gp3 takes 125 to 2000"},
		"gp3 throughput too much":    {ebs("gp3", n(80000), n(2001)), awsField + "throughput is 2001"},
		"gp3 throughput of default":  {ebs("gp3", nil, n(750)), ""},
		"gp3 throughput over iops":   {ebs("gp3", nil, n(751)), awsField + "throughput is 751: gp3 with 3000 IOPS takes at most 750"},
		"io1 most":                   {ebs("io1", n(64000), nil), ""},
		"io1 iops too many":          {ebs("io1", n(64001), nil), awsField + "iops is 64001: io1 takes 100 to 64000"},
		"io1 without iops":           {ebs("io1", nil, nil), awsField + "iops is missing"},
		"io2 most":                   {ebs("io2", n(256000), nil), ""},
		"io2 without iops":           {ebs("io2", nil, nil), awsField + "iops is missing"},
		"io2 with throughput":        {ebs("io2", n(3000), n(125)), awsField + "throughput is 125: leave it out"},
		"gp2 with iops":              {ebs("gp2", n(3000), nil), awsField + "iops is 3000: leave it out"},
		"st1 with throughput":        {ebs("st1", nil, n(125)), awsField + "throughput is 125: leave it out"},
		"sc1":                        {ebs("sc1", nil, nil), ""},
		"unknown type":               {ebs("gp4", nil, nil), awsField + `type is "gp4": give one of gp2, gp3`},
		"pd-ssd":                     {pd("pd-ssd", nil, nil), ""},
		"pd-ssd with iops":           {pd("pd-ssd", n(3000), nil), gcpField + "iops is 3000: leave it out"},
		"default with throughput":    {pd("", nil, n(140)), gcpField + "throughput is 140: leave it out, pd-balanced"},
		"balanced most":              {pd("hyperdisk-balanced", n(160000), n(2400)), ""},
		"balanced iops too few":      {pd("hyperdisk-balanced", n(2999), nil), gcpField + "iops is 2999"},
		"balanced throughput":        {pd("hyperdisk-balanced", nil, n(139)), gcpField + "throughput is 139"},
		"balanced throughput over":   {pd("hyperdisk-balanced", n(3000), n(751)), gcpField + "throughput is 751: hyperdisk-balanced with 3000 IOPS takes at most 750"},
		"balanced throughput under":  {pd("hyperdisk-balanced", n(160000), n(624)), gcpField + "throughput is 624: hyperdisk-balanced with 160000 IOPS needs at least 625"},
		"extreme hyperdisk":          {pd("hyperdisk-extreme", n(350000), nil), ""},
		"extreme, throughput":        {pd("hyperdisk-extreme", nil, n(140)), gcpField + "throughput is 140: leave it out"},
		"throughput hyperdisk":       {pd("hyperdisk-throughput", nil, n(20)), ""},
		"throughput, iops":           {pd("hyperdisk-throughput", n(3000), nil), gcpField + "iops is 3000: leave it out"},
		"pd-extreme":                 {pd("pd-extreme", n(9999), nil), gcpField + "iops is 9999: pd-extreme takes 10000 to 120000"},
		"Premium":                    {managed("Premium_LRS", nil, nil), ""},
		"Premium with iops":          {managed("Premium_LRS", n(3000), nil), azureField + "iops is 3000: leave it out"},
		"default with throughput az": {managed("", nil, n(125)), azureField + "throughput is 125: leave it out, StandardSSD_LRS"},
		"PremiumV2 most":             {managed(premiumV2, n(80000), n(2000)), ""},
		"PremiumV2 iops too few":     {managed(premiumV2, n(2999), nil), azureField + "iops is 2999"},
		"PremiumV2 throughput over":  {managed(premiumV2, nil, n(751)), azureField + "throughput is 751"},
		"Ultra least":                {managed(ultra, n(100), n(25)), ""},
		"Ultra throughput over":      {managed(ultra, nil, n(126)), azureField + "throughput is 126: UltraSSD_LRS with 500 IOPS takes at most 125"},
		"key but no encryption": {v1.CloudConfig{AWS: &v1.AWSConfig{EBS: v1.EBSConfig{KMSKeyID: "alias/a", Encrypted: new(false)}}},
			awsField + "encrypted is false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, checkAll(tt.config), tt.says)
		})
	}
}

// expect checks that an error says something, or that there is none.
func expect(t *testing.T, err error, says string) {
	t.Helper()
	switch {
	case says == "" && err != nil:
		t.Errorf("refused: %v", err)
	case says != "" && err == nil:
		t.Errorf("accepted; want an error that says %q", says)
	case says != "" && !strings.Contains(err.Error(), says):
		t.Errorf("refused for %q; want an error that says %q", err, says)
	}
}

// TestEachProvidersFaultIsTold checks that the error names the fault of each provider, not only the first.
func TestEachProvidersFaultIsTold(t *testing.T) {
	t.Parallel()
	both := v1.CloudConfig{AWS: ebs("io1", nil, nil).AWS, Azure: managed("Premium_LRS", new(int32(500)), nil).Azure}
	err := checkAll(both)
	expect(t, err, "spec.cloudConfig.aws.ebs.iops is missing")
	expect(t, err, "spec.cloudConfig.azure.iops is 500")
	if _, err := AppClass(clusters()["gcp"], both); err != nil {
		t.Errorf("another provider's block is in the way: %v", err)
	}
}

func TestKeyOfAnotherRegion(t *testing.T) {
	t.Parallel()
	for key, says := range map[string]string{
		"arn:aws:kms:eu-west-1:123456789012:key/1":            "",
		"arn:aws:kms:eu-west-1:123456789012:alias/shop":       "",
		"arn:aws-us-gov:kms:us-gov-east-1:123456789012:key/1": "spec.cloudConfig.aws.ebs.kmsKeyID is not of the cluster's region eu-west-1",
		"arn:aws:kms": "spec.cloudConfig.aws.ebs.kmsKeyID",
		"alias/shop":  "",
	} {
		config := v1.CloudConfig{AWS: &v1.AWSConfig{EBS: v1.EBSConfig{KMSKeyID: key}}}
		_, err := AppClass(clusters()["aws"], config)
		expect(t, err, says)
		_, err = AppClass(Cluster{Provider: v1.ProviderAWS, Drivers: []string{DriverEBS}}, config)
		expect(t, err, "")
	}
}

func TestCheckSize(t *testing.T) {
	t.Parallel()
	profile := func(cluster string, i int) *storagev1.StorageClass {
		set, err := Classes(clusters()[cluster])
		if err != nil {
			t.Fatal(err)
		}
		return set.Profiles[i].Class
	}
	app := func(cluster string, config v1.CloudConfig) *storagev1.StorageClass {
		class, err := AppClass(clusters()[cluster], config)
		if err != nil {
			t.Fatal(err)
		}
		return class
	}
	n := func(value int32) *int32 { return new(value) }
	for name, tt := range map[string]struct {
		class *storagev1.StorageClass
		size  string
		says  string
	}{
		"no class":             {nil, "1Gi", ""},
		"of another driver":    {&storagev1.StorageClass{Provisioner: "rancher.io/local-path"}, "1Gi", ""},
		"standard":             {profile("aws", 0), "1Gi", ""},
		"standard, too large":  {profile("aws", 0), "65Ti", "a volume of 65Ti is too large: gp3 takes at most 65536Gi"},
		"fast, small":          {profile("aws", 1), "11Gi", "a volume of 11Gi is too small: gp3 needs at least 12Gi for 6000 IOPS"},
		"fast":                 {profile("aws-auto", 1), "12Gi", ""},
		"rounded up":           {profile("aws", 1), "11265Mi", ""},
		"archive":              {profile("aws", 2), "125Gi", ""},
		"archive, small":       {profile("aws", 2), "124Gi", "a volume of 124Gi is too small: st1 takes at least 125Gi"},
		"baseline of any size": {app("aws", ebs("gp3", n(3000), nil)), "1Gi", ""},
		"io1":                  {app("aws", ebs("io1", n(5000), nil)), "99Gi", "io1 needs at least 100Gi for 5000 IOPS"},
		"GCP":                  {profile("gcp", 1), "10Gi", ""},
		"GCP throughput":       {app("gcp", pd("hyperdisk-throughput", nil, nil)), "100Gi", "hyperdisk-throughput takes at least 2048Gi"},
		"Azure":                {profile("azure", 2), "33Ti", "Standard_LRS takes at most 32767Gi"},
		"Azure PremiumV2":      {app("azure", managed(premiumV2, n(80000), nil)), "159Gi", "PremiumV2_LRS needs at least 160Gi for 80000 IOPS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, CheckSize(tt.class, resource.MustParse(tt.size)), tt.says)
		})
	}
}

// checkAll finds what is wrong with each block.
func checkAll(config v1.CloudConfig) error {
	var faults []error
	for _, p := range []v1.Provider{v1.ProviderAWS, v1.ProviderGCP, v1.ProviderAzure} {
		if d, ok := configured(p, config); ok {
			faults = append(faults, d.check(""))
		}
	}
	return errors.Join(faults...)
}
