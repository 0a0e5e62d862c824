package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// hashLength is the number of characters of a program's hash in a tag.
const hashLength = 12

// source is a program and the image that it becomes.
type source struct {
	image string
	// module is the folder of the module, pkg the package in it.
	module, pkg string
	// program is the name of the program, version the version that it prints.
	program, version string
	dockerfile       string
	// standIn reports whether the image replaces a published one.
	standIn bool
}

func storefront() []source {
	const shop = "e2e/shop"
	images := []string{FrontendOld, FrontendNew, BackendOld, BackendNew, Customer}
	all := make([]source, 0, len(images))
	for _, image := range images {
		name, version, _ := strings.Cut(image, ":")
		program := name[strings.LastIndex(name, "-")+1:]
		all = append(all, source{
			image: image, module: shop, pkg: "./cmd/" + program, program: program, version: version,
			dockerfile: shop + "/Dockerfile",
		})
	}
	return all
}

// Product makes the images of the hub and the spoke from a tree of sources, which need
// not be the builder's, as a version, and returns their names. Both have one tag, the hash of their
// programs, so that one is found beside the other.
func (b *Builder) Product(ctx context.Context, root, version string) (hub, spoke string, err error) {
	sum := sha256.New()
	var sources [2]source
	for i, program := range []string{"hub", "spoke"} {
		sources[i] = source{
			image: "shopfleet-" + program, module: root, pkg: "./cmd/" + program, program: program, version: version,
			dockerfile: filepath.Join(root, "cmd", "Dockerfile"),
		}
		folder, err := b.compile(ctx, sources[i])
		if err != nil {
			return "", "", err
		}
		raw, err := os.ReadFile(filepath.Join(folder, program))
		if err != nil {
			return "", "", fmt.Errorf("reading the program %q: %w", program, err)
		}
		_, _ = sum.Write(raw) // A hash never fails.
	}
	tag := ":e2e-" + hex.EncodeToString(sum.Sum(nil))[:hashLength]
	for i := range sources {
		folder := b.folder(sources[i])
		sources[i].image += tag
		if err := b.wrap(ctx, sources[i], folder); err != nil {
			return "", "", err
		}
	}
	return sources[0].image, sources[1].image, nil
}

// program makes the image of a program.
func (b *Builder) program(ctx context.Context, s source) error {
	folder, err := b.compile(ctx, s)
	if err != nil {
		return err
	}
	return b.wrap(ctx, s, folder)
}

// compile builds a program, static, into a folder of its own, and returns that.
func (b *Builder) compile(ctx context.Context, s source) (string, error) {
	folder := b.folder(s)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("making a folder for %q: %w", s.image, err)
	}
	// Use the flags of the product's build, to share its build cache.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+s.version,
		"-o", filepath.Join(folder, s.program), s.pkg)
	cmd.Dir = b.resolve(s.module)
	if _, err := command(cmd); err != nil {
		return "", err
	}
	return folder, nil
}

// folder returns the folder in which the program of an image is built.
func (b *Builder) folder(s source) string {
	return b.path(strings.NewReplacer(":", "-", "/", "-").Replace(s.image))
}

// wrap makes the image of a program that is built.
func (b *Builder) wrap(ctx context.Context, s source, folder string) error {
	args := []string{"build", "--quiet", "--tag", s.image, "--file", b.resolve(s.dockerfile)}
	if s.standIn {
		args = append(args, "--label", standIn+"=true")
	} else {
		args = append(args, "--build-arg", "BINARY="+s.program, "--build-arg", "VERSION="+s.version)
	}
	_, err := docker(ctx, append(args, folder)...)
	if err == nil {
		b.say("image %s", s.image)
	}
	return err
}

// resolve returns the path of something in the repository.
func (b *Builder) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(b.Root, path)
}
