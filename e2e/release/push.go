package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// push uploads images and charts, with the credentials of docker's configuration, and signs them if it has a key. A registry
// at a loopback or private address that has no TLS is asked without it.
func push(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("push", flag.ContinueOnError)
	from := flags.String("from", "", "Folder that build wrote")
	to := flags.String("to", "", "Folder of the registry")
	helm := flags.String("helm", "helm", "Path of helm")
	keyFile := flags.String("key", "", "Private key to sign images and charts with; empty leaves them unsigned")
	if err := flags.Parse(args); err != nil {
		return err
	}
	version, err := versionOf(*from)
	if err != nil {
		return err
	}
	registry := strings.TrimSuffix(*to, "/")
	if err := checkRegistry(*from, registry, version); err != nil {
		return err
	}
	var key *ecdsa.PrivateKey
	if *keyFile == "" {
		fmt.Println("NOT SIGNED: no --key was given")
	} else if key, err = readKey(*keyFile, os.Getenv("COSIGN_PASSWORD")); err != nil {
		return err
	}
	p := pusher{from: *from, registry: registry, version: version, helm: *helm}
	layouts, err := os.ReadDir(filepath.Join(p.from, "images"))
	if err != nil {
		return err
	}
	for _, entry := range layouts {
		image, err := p.images(ctx, entry.Name())
		if err != nil {
			return err
		}
		if err := signPushed(ctx, key, image); err != nil {
			return err
		}
	}
	for _, process := range processes() {
		chart, err := p.chart(ctx, process)
		if err != nil {
			return err
		}
		if err := signPushed(ctx, key, chart); err != nil {
			return err
		}
	}
	return nil
}

// pusher uploads what build wrote into a folder.
type pusher struct{ from, registry, version, helm string }

// images pushes the images of a layout, and returns the digest of their index.
func (p pusher) images(ctx context.Context, layoutName string) (name.Digest, error) {
	reference, err := name.ParseReference(p.registry + "/" + layoutName + ":" + p.version)
	if err != nil {
		return name.Digest{}, err
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(p.from, "images", layoutName))
	if err != nil {
		return name.Digest{}, err
	}
	if err := remote.WriteIndex(reference, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return name.Digest{}, fmt.Errorf("pushing %s: %w", reference, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return name.Digest{}, err
	}
	fmt.Printf("%s@%s\n", reference, digest)
	return reference.Context().Digest(digest.String()), nil
}

// chart pushes the chart of a process, and returns its digest.
func (p pusher) chart(ctx context.Context, process string) (name.Digest, error) {
	version := strings.TrimPrefix(p.version, "v")
	reference, err := name.ParseReference(p.registry + "/charts/shopfleet-" + process + ":" + version)
	if err != nil {
		return name.Digest{}, err
	}
	args := []string{"push", filepath.Join(p.from, "shopfleet-"+process+"-"+version+".tgz"), "oci://" + p.registry + "/charts"}
	challenge, err := transport.Ping(ctx, reference.Context().Registry, http.DefaultTransport)
	if err != nil {
		return name.Digest{}, fmt.Errorf("asking %s: %w", reference.Context().Registry, err)
	}
	if challenge.Insecure {
		args = append(args, "--plain-http")
	}
	cmd := exec.CommandContext(ctx, p.helm, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return name.Digest{}, fmt.Errorf("pushing the chart of %s: %w", process, err)
	}
	pushed, err := remote.Head(reference, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return name.Digest{}, fmt.Errorf("asking for the digest of %s: %w", reference, err)
	}
	return reference.Context().Digest(pushed.Digest.String()), nil
}

// versionOf returns the version of the release in a folder, from the name of a chart.
func versionOf(folder string) (string, error) {
	charts, err := filepath.Glob(filepath.Join(folder, "shopfleet-hub-*.tgz"))
	if err != nil || len(charts) != 1 {
		return "", fmt.Errorf("%d charts of the hub in %q, want one: run release build", len(charts), folder)
	}
	return "v" + strings.TrimSuffix(strings.TrimPrefix(filepath.Base(charts[0]), "shopfleet-hub-"), ".tgz"), nil
}

var errRegistry = errors.New("the manifests, charts and plugin of a release name the registry that it was built for: push to that one, or build the release for the other")

// checkRegistry returns an error if the release in a folder was built for another registry, where nothing would find its images. The
// manifests of sources whose plugin knew no registry name none.
func checkRegistry(folder, registry, version string) error {
	const manifests = "install-hub.yaml"
	raw, err := os.ReadFile(filepath.Join(folder, manifests))
	if err != nil {
		return fmt.Errorf("looking for the registry of the release: %w", err)
	}
	found := regexp.MustCompile(`(?m)^ *(?:- )?image: "?(?:([^\s"]+)/)?shopfleet-hub:` + regexp.QuoteMeta(version) + `"?$`).FindSubmatch(raw)
	if found == nil {
		return fmt.Errorf("%s has no image of the hub of %s: run release build", manifests, version)
	}
	if built := string(found[1]); built != "" && built != registry {
		return fmt.Errorf("--to %q, and the release was built with --registry %q: %w", registry, built, errRegistry)
	}
	return nil
}
