package dumps

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/shopfleet/shopfleet/cloud"
)

const (
	claimsFolder = "claims/"
	claimSuffix  = ".json"
)

// claim says in a bucket that a hub has taken over the backups of another one. Its content is always the same, so that it
// is written once.
type claim struct {
	Hub      string `json:"hub"`
	Claimant string `json:"claimant"`
}

// ClaimsRoot returns the prefix of the claims of the backups of a hub.
func ClaimsRoot(hub string) string { return top + hub + "/" + claimsFolder }

// Claimant returns which hub claims the backups of another one with a key; empty if the key is of no claim of these.
func Claimant(hub, key string) string {
	name, within := strings.CutPrefix(key, ClaimsRoot(hub))
	claimant, is := strings.CutSuffix(name, claimSuffix)
	if !within || !is || !uid(claimant) {
		return ""
	}
	return claimant
}

// Claim writes that a hub takes over the backups of another one. Errors wrap *cloud.Error.
func Claim(ctx context.Context, objects cloud.ObjectStore, hub, claimant string) error {
	if !uid(hub) || !uid(claimant) {
		return &cloud.Error{Class: cloud.ClassInvalid, Op: "Claim", Message: fmt.Sprintf("%q is not the UID of a hub", hub)}
	}
	content, err := json.Marshal(claim{Hub: hub, Claimant: claimant})
	if err != nil {
		return fmt.Errorf("encoding a claim: %w", err)
	}
	if err := objects.PutObject(ctx, ClaimsRoot(hub)+claimant+claimSuffix, content); err != nil {
		return fmt.Errorf("claiming the backups of %q: %w", hub, err)
	}
	return nil
}
