package iam

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Documents are the permissions that cloud/README.md tells its readers to grant.
type Documents struct{ sections map[string]string }

// Read reads the page at a path.
func Read(path string) (*Documents, error) {
	page, err := fs.ReadFile(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return nil, fmt.Errorf("reading the documents: %w", err)
	}
	_, permissions, found := strings.Cut(string(page), "\n## Permissions\n")
	permissions, _, ended := strings.Cut(permissions, "\n## ")
	if !found || !ended {
		return nil, fmt.Errorf("%s has no section Permissions", path)
	}
	d := &Documents{sections: map[string]string{}}
	for _, section := range strings.Split(permissions, "\n### ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		d.sections[title] = text
	}
	return d, nil
}

// block returns the n-th fenced block of a language in a section, counted from 0, with
// placeholders replaced.
func (d *Documents) block(section, language string, n int, replace ...string) ([]byte, error) {
	blocks := regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(d.sections[section], -1)
	if n >= len(blocks) {
		return nil, fmt.Errorf("section %q has %d blocks of %s, not %d", section, len(blocks), language, n+1)
	}
	return []byte(strings.NewReplacer(replace...).Replace(blocks[n][1])), nil
}

func (d *Documents) policy(n int, replace ...string) (*Policy, error) {
	document, err := d.block("AWS", "json", n, replace...)
	if err != nil {
		return nil, err
	}
	return ParsePolicy(document)
}

// AWS returns the policies for snapshots and volumes of a hub that has one identity.
func (d *Documents) AWS(hub string) (*Policy, error) {
	writing, err := d.AWSWriting(hub)
	if err != nil {
		return nil, err
	}
	deletion, err := d.AWSDeletion(hub)
	if err != nil {
		return nil, err
	}
	return Join(writing, deletion), nil
}

// AWSWriting returns the policy of an identity that does not delete snapshots.
func (d *Documents) AWSWriting(hub string) (*Policy, error) { return d.policy(0, "HUB", hub) }

// AWSDeletion returns the policy of an identity that deletes snapshots.
func (d *Documents) AWSDeletion(hub string) (*Policy, error) { return d.policy(1, "HUB", hub) }

// AWSBucket returns the policy for a bucket. The prefix is the account's, and may be empty.
func (d *Documents) AWSBucket(bucket, prefix string) (*Policy, error) {
	if prefix != "" {
		prefix += "/"
	}
	return d.policy(2, "BUCKET", bucket, "PREFIX/", prefix)
}

// AWSKey returns the policy for a customer managed key.
func (d *Documents) AWSKey(arn string) (*Policy, error) { return d.policy(3, "KEY", arn) }

func (d *Documents) permissions(n int) (Permissions, error) {
	document, err := d.block("Google Cloud", "yaml", n)
	if err != nil {
		return nil, err
	}
	return ParsePermissions(document)
}

// Google returns the permissions of the custom roles for snapshots and disks of a hub that has one identity.
func (d *Documents) Google() (Permissions, error) {
	writing, err := d.GoogleWriting()
	if err != nil {
		return nil, err
	}
	deletion, err := d.GoogleDeletion()
	if err != nil {
		return nil, err
	}
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(writing, deletion)))), nil
}

// GoogleWriting returns the custom role of an identity that does not delete snapshots.
func (d *Documents) GoogleWriting() (Permissions, error) { return d.permissions(0) }

// GoogleDeletion returns the custom role of an identity that deletes snapshots.
func (d *Documents) GoogleDeletion() (Permissions, error) { return d.permissions(1) }

// GoogleBucket returns the custom role for a bucket.
func (d *Documents) GoogleBucket() (Permissions, error) { return d.permissions(2) }

func (d *Documents) role(n int) (*Role, error) {
	document, err := d.block("Azure", "json", n)
	if err != nil {
		return nil, err
	}
	return ParseRole(document)
}

// Azure returns what the custom roles on the resource group of an account allow a hub that has one identity.
func (d *Documents) Azure() (*Role, error) {
	writing, err := d.AzureWriting()
	if err != nil {
		return nil, err
	}
	deletion, err := d.AzureDeletion()
	if err != nil {
		return nil, err
	}
	out := JoinRoles(writing, deletion)
	out.Actions = slices.Compact(slices.Sorted(slices.Values(out.Actions)))
	return out, nil
}

// AzureWriting returns the custom role of an identity that does not delete snapshots.
func (d *Documents) AzureWriting() (*Role, error) { return d.role(0) }

// AzureDeletion returns the custom role of an identity that deletes snapshots.
func (d *Documents) AzureDeletion() (*Role, error) { return d.role(1) }

// AzureDisks returns the custom role on the resource groups of the clusters' disks.
func (d *Documents) AzureDisks() (*Role, error) { return d.role(2) }

// AzureKeys returns the custom role on the disk encryption sets.
func (d *Documents) AzureKeys() (*Role, error) { return d.role(3) }

// AzureBucket returns what the built-in roles allow together that the section names.
func (d *Documents) AzureBucket() (*Role, error) {
	var roles []*Role
	for _, named := range regexp.MustCompile("`(Storage [A-Za-z ]+)`").FindAllStringSubmatch(d.sections["Azure"], -1) {
		role := builtIn()[named[1]]
		if role == nil {
			return nil, fmt.Errorf("the built-in role %q is not known", named[1])
		}
		roles = append(roles, role)
	}
	if len(roles) == 0 {
		return nil, fmt.Errorf("section %q names no built-in role", "Azure")
	}
	return JoinRoles(roles...), nil
}
