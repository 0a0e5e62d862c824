package iam

import (
	"slices"
	"strings"
	"testing"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	const policy = `{"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Action": ["ec2:Describe*", "ec2:CreateSnapshot"], "Resource": "*"},
		{"Effect": "Allow", "Action": "ec2:DeleteSnapshot", "Resource": "arn:aws:ec2:*::snapshot/snap-*",
		 "Condition": {"StringEquals": {"aws:ResourceTag/hub": ["a", "b"]}, "StringNotLike": {"aws:ResourceTag/keep": "y*"}}},
		{"Effect": "Allow", "Action": "ec2:CopySnapshot", "Resource": "arn:aws:ec2:*::snapshot/${*}",
		 "Condition": {"ForAllValues:StringLike": {"aws:TagKeys": ["hub", "shop-*"]}, "Null": {"aws:TagKeys": "false"}}},
		{"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::b", "Condition": {"StringLikeIfExists": {"s3:prefix": "p/*"}}},
		{"Effect": "Allow", "Action": "kms:CreateGrant", "Resource": "*", "Condition": {"Bool": {"kms:GrantIsForAWSResource": "true"}}},
		{"Effect": "Allow", "Action": "ec2:TagAny", "Resource": "*", "Condition": {"ForAnyValue:StringEquals": {"aws:TagKeys": "hub"}}},
		{"Effect": "Deny", "Action": "ec2:DescribeVolumes", "Resource": "*", "Condition": {"StringEquals": {"ec2:Region": "there"}}}]}`
	parsed, err := ParsePolicy([]byte(policy))
	if err != nil {
		t.Fatal(err)
	}
	const snapshot, created = "arn:aws:ec2:here::snapshot/snap-1", "arn:aws:ec2:here::snapshot/*"
	context := func(pairs ...string) map[string][]string {
		out := map[string][]string{}
		for pair := range slices.Chunk(pairs, 2) {
			out[pair[0]] = append(out[pair[0]], pair[1:]...)
		}
		return out
	}
	for name, tt := range map[string]struct {
		request Request
		want    bool
	}{
		"a wildcard of actions":             {Request{"ec2:DescribeSnapshots", "*", nil}, true},
		"actions have no case":              {Request{"EC2:describesnapshots", "*", nil}, true},
		"another action":                    {Request{"ec2:RunInstances", "*", nil}, false},
		"a deny elsewhere":                  {Request{"ec2:DescribeVolumes", "*", context("ec2:Region", "here")}, true},
		"a deny wins":                       {Request{"ec2:DescribeVolumes", "*", context("ec2:Region", "there")}, false},
		"one of several values":             {Request{"ec2:DeleteSnapshot", snapshot, context("aws:ResourceTag/hub", "b")}, true},
		"another value":                     {Request{"ec2:DeleteSnapshot", snapshot, context("aws:ResourceTag/hub", "c")}, false},
		"no tag":                            {Request{"ec2:DeleteSnapshot", snapshot, nil}, false},
		"the tag of the request instead":    {Request{"ec2:DeleteSnapshot", snapshot, context("aws:RequestTag/hub", "a")}, false},
		"all conditions must hold":          {Request{"ec2:DeleteSnapshot", snapshot, context("aws:ResourceTag/hub", "a", "aws:ResourceTag/keep", "yes")}, false},
		"another resource":                  {Request{"ec2:DeleteSnapshot", "arn:aws:ec2:here:1:volume/vol-1", context("aws:ResourceTag/hub", "a")}, false},
		"what is created is a literal star": {Request{"ec2:CopySnapshot", created, context("aws:TagKeys", "hub")}, true},
		"and no other resource":             {Request{"ec2:CopySnapshot", snapshot, context("aws:TagKeys", "hub")}, false},
		"all values of a key":               {Request{"ec2:CopySnapshot", created, context("aws:TagKeys", "hub", "aws:TagKeys", "shop-x")}, true},
		"all but one":                       {Request{"ec2:CopySnapshot", created, context("aws:TagKeys", "hub", "aws:TagKeys", "x")}, false},
		"Null wants the key":                {Request{"ec2:CopySnapshot", created, nil}, false},
		"any value of a key":                {Request{"ec2:TagAny", "*", context("aws:TagKeys", "x", "aws:TagKeys", "hub")}, true},
		"none of the values":                {Request{"ec2:TagAny", "*", context("aws:TagKeys", "x")}, false},
		"any value of no key":               {Request{"ec2:TagAny", "*", nil}, false},
		"IfExists without the key":          {Request{"s3:ListBucket", "arn:aws:s3:::b", nil}, true},
		"IfExists with the key":             {Request{"s3:ListBucket", "arn:aws:s3:::b", context("s3:prefix", "q/")}, false},
		"keys have no case":                 {Request{"s3:ListBucket", "arn:aws:s3:::b", context("S3:Prefix", "p/x")}, true},
		"a boolean":                         {Request{"kms:CreateGrant", "k", context("kms:GrantIsForAWSResource", "true")}, true},
		"the other boolean":                 {Request{"kms:CreateGrant", "k", context("kms:GrantIsForAWSResource", "false")}, false},
	} {
		if got := parsed.Allows(tt.request); got != tt.want {
			t.Errorf("%s: allowed %t, want %t", name, got, tt.want)
		}
	}
}

// TestWhatIsNotEvaluatedIsRefused checks that an element that the fake does not evaluate is an error: to ignore it
// would allow too much.
func TestWhatIsNotEvaluatedIsRefused(t *testing.T) {
	t.Parallel()
	const good = `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "a:b", "Resource": "*", "Condition": {"Bool": {"k": "true"}}}]}`
	if _, err := ParsePolicy([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for old, changed := range map[string]string{
		`"Action"`: `"NotAction"`, `"Resource"`: `"NotResource"`, `"Bool"`: `"NumericEquals"`, `{"Bool"`: `{"ForSome:Bool"`,
		`"Allow"`: `"Maybe"`, "2012-10-17": "2008-10-17", `"Effect"`: `"Principal": "*", "Effect"`,
	} {
		if _, err := ParsePolicy([]byte(strings.Replace(good, old, changed, 1))); err == nil {
			t.Errorf("%s is accepted", changed)
		}
	}
	for _, role := range []string{
		`{"Name": "r", "IsCustom": true, "Actions": ["a/read"]}`, `{"Name": "r", "Actions": ["a/read"], "AssignableScopes": ["/"]}`,
		`{"Name": "r", "IsCustom": true, "Permission": ["a/read"], "AssignableScopes": ["/"]}`,
	} {
		if _, err := ParseRole([]byte(role)); err == nil {
			t.Errorf("%s is accepted", role)
		}
	}
	for _, role := range []string{"title: r", "title: r\nincludedPermissions: [compute.disks]", "title: r\nincludedPermissions: ['compute.*.get']", "permissions: [a.b.c]"} {
		if _, err := ParsePermissions([]byte(role)); err == nil {
			t.Errorf("%q is accepted", role)
		}
	}
}

func TestRole(t *testing.T) {
	t.Parallel()
	role, err := ParseRole([]byte(`{"Name": "r", "IsCustom": true, "Actions": ["Microsoft.Compute/*/read", "Microsoft.Compute/disks/*"],
		"NotActions": ["Microsoft.Compute/disks/delete"], "DataActions": ["*/blobs/read"], "AssignableScopes": ["/"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for action, want := range map[string]bool{
		"microsoft.compute/snapshots/READ": true, "Microsoft.Compute/disks/write": true, "Microsoft.Compute/disks/delete": false,
		"Microsoft.Compute/snapshots/write": false, "x/blobs/read": false,
	} {
		if got := role.Allows(action); got != want {
			t.Errorf("%s: allowed %t, want %t", action, got, want)
		}
	}
	if !role.AllowsData("x/blobs/read") || role.AllowsData("Microsoft.Compute/disks/write") {
		t.Error("data actions are not what DataActions say")
	}
}

// TestRead reads the page: each of its documents can be evaluated.
func TestRead(t *testing.T) {
	t.Parallel()
	page, err := Read("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"AWS":          func() error { _, err := page.AWS("hub"); return err },
		"AWSBucket":    func() error { _, err := page.AWSBucket("b", "p"); return err },
		"AWSKey":       func() error { _, err := page.AWSKey("arn"); return err },
		"Google":       func() error { _, err := page.Google(); return err },
		"GoogleBucket": func() error { _, err := page.GoogleBucket(); return err },
		"Azure":        func() error { _, err := page.Azure(); return err },
		"AzureDisks":   func() error { _, err := page.AzureDisks(); return err },
		"AzureKeys":    func() error { _, err := page.AzureKeys(); return err },
		"AzureBucket":  func() error { _, err := page.AzureBucket(); return err },
	} {
		if err := read(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read("../../doc.go"); err == nil {
		t.Error("a file without the section is accepted")
	}
}
