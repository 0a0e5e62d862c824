package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/defaults"
)

const (
	// engineTimeout bounds the question whether there is a container engine,
	// pullTimeout the attempt to get a node image.
	engineTimeout = 20 * time.Second
	pullTimeout   = 10 * time.Minute
)

// errUnusable means that clusters cannot be created on this machine. The wrapping error
// has the reason and a remedy.
var errUnusable = errors.New("kind cannot be used here")

// Usable returns nil if clusters can be created: a container engine responds, and an
// image for nodes exists or can be pulled.
func Usable(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	if _, err := engine(asking, "info"); err != nil {
		return fmt.Errorf("%w: no container engine answers; install docker and start it: %w", errUnusable, err)
	}
	image := nodeImage()
	if _, err := engine(ctx, "image", "inspect", image); err == nil {
		return nil
	}
	pulling, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	if _, err := engine(pulling, "pull", "--quiet", image); err != nil {
		return fmt.Errorf("%w: the node image cannot be pulled; name one that is here in KIND_NODE_IMAGE: %w", errUnusable, err)
	}
	return nil
}

// nodeImage returns the image of nodes: KIND_NODE_IMAGE, or kind's.
func nodeImage() string {
	if image := os.Getenv("KIND_NODE_IMAGE"); image != "" {
		return image
	}
	return defaults.Image
}
