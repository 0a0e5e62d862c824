package iam

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

// AWS returns the policy for snapshots and volumes of a hub.
func (d *Documents) AWS(hub string) (*Policy, error) { return d.policy(0, "HUB", hub) }

// AWSBucket returns the policy for a bucket. The prefix is the account's, and may be empty.
func (d *Documents) AWSBucket(bucket, prefix string) (*Policy, error) {
	if prefix != "" {
		prefix += "/"
	}
	return d.policy(1, "BUCKET", bucket, "PREFIX/", prefix)
}

// AWSKey returns the policy for a customer managed key.
func (d *Documents) AWSKey(arn string) (*Policy, error) { return d.policy(2, "KEY", arn) }

func (d *Documents) permissions(n int) (Permissions, error) {
	document, err := d.block("Google Cloud", "yaml", n)
	if err != nil {
		return nil, err
	}
	return ParsePermissions(document)
}

// Google returns the custom role for snapshots and disks of a project.
func (d *Documents) Google() (Permissions, error) { return d.permissions(0) }

// GoogleBucket returns the custom role for a bucket.
func (d *Documents) GoogleBucket() (Permissions, error) { return d.permissions(1) }

func (d *Documents) role(n int) (*Role, error) {
	document, err := d.block("Azure", "json", n)
	if err != nil {
		return nil, err
	}
	return ParseRole(document)
}

// Azure returns the custom role on the resource group of an account.
func (d *Documents) Azure() (*Role, error) { return d.role(0) }

// AzureDisks returns the custom role on the resource groups of the clusters' disks.
func (d *Documents) AzureDisks() (*Role, error) { return d.role(1) }

// AzureKeys returns the custom role on the disk encryption sets.
func (d *Documents) AzureKeys() (*Role, error) { return d.role(2) }

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
