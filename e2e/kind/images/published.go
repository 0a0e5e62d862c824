package images

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// standIn is the label of images that stand in for published ones.
const standIn = "shopfleet.stand-in"

// third is an image of others, and how a stand-in for it is made.
type third struct {
	image string
	// folder has the stand-in's Dockerfile; a stand-in that is a program is of source.
	folder string
	source *source
}

func published() []third {
	const kind = "e2e/kind/"
	return []third{
		{image: Postgres, folder: kind + "images/postgres"},
		{image: MySQL, folder: kind + "images/mysql"},
		{image: login, source: &source{
			image: login, module: kind + "oauth2proxy", pkg: "github.com/oauth2-proxy/oauth2-proxy/v7", program: "oauth2-proxy",
			dockerfile: kind + "oauth2proxy/Dockerfile", standIn: true,
		}},
	}
}

// published finds an image on this machine, gets it from where it is published,
// or makes a stand-in for it.
func (b *Builder) published(ctx context.Context, p third) error {
	if found, err := docker(ctx, "image", "inspect", "--format", "{{json .Config.Labels}}", p.image); err == nil {
		if strings.Contains(found, standIn) {
			return b.standIn(ctx, p) // What it is made from may have changed.
		}
		b.say("image %s: on this machine", p.image)
		return nil
	}
	pulling, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	_, pulled := docker(pulling, "pull", "--quiet", p.image)
	if pulled == nil {
		b.say("image %s: pulled", p.image)
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("pulling %s: %w", p.image, err)
	}
	b.say("image %s cannot be pulled: making a stand-in", p.image)
	made := b.standIn(ctx, p)
	if made != nil {
		return errors.Join(pulled, made)
	}
	return nil
}

func (b *Builder) standIn(ctx context.Context, p third) error {
	if p.source != nil {
		return b.program(ctx, *p.source)
	}
	base, err := b.debian(ctx)
	if err != nil {
		return err
	}
	// Packages come over this machine's network.
	_, err = docker(ctx, "build", "--quiet", "--network", "host", "--build-arg", "BASE="+base,
		"--label", standIn+"=true", "--tag", p.image, b.resolve(p.folder))
	if err == nil {
		b.say("image %s: a stand-in", p.image)
	}
	return err
}

// debian returns an image of Debian with its packages: the builder's, one on this
// machine whose name says so, or the node's own.
func (b *Builder) debian(ctx context.Context) (string, error) {
	if b.Debian != "" {
		return b.Debian, nil
	}
	list, err := docker(ctx, "image", "ls", "--format", "{{.Repository}}:{{.Tag}}")
	if err != nil {
		return "", err
	}
	for image := range strings.FieldsSeq(list) {
		if strings.Contains(image, "debian") {
			return image, nil
		}
	}
	if b.Node == "" {
		return "", errNoDebian
	}
	return b.Node, nil
}

var errNoDebian = errors.New("finding an image of Debian: none is on this machine; name one in DEBIAN_IMAGE")
