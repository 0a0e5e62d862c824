package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/auth"
	googlecredentials "cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/compute/metadata"
	"k8s.io/utils/clock"
)

// environmentFile is the variable that names the file of the ambient identity.
const environmentFile = "GOOGLE_APPLICATION_CREDENTIALS"

// ambient is the identity of the machine or pod. It is read with each token, because the
// metadata server must be asked.
type ambient struct {
	client *http.Client
	clock  clock.PassiveClock
}

func ambientCredentials(client *http.Client, clock clock.PassiveClock) *Credentials {
	a := ambient{client: client, clock: clock}
	return newCredentials(a, a.name)
}

// Token returns a token of the machine's or pod's identity.
func (a ambient) Token(ctx context.Context) (*auth.Token, error) {
	if os.Getenv(environmentFile) != "" {
		file, err := a.file()
		if err != nil {
			return nil, err
		}
		return file.Token(ctx)
	}
	text, err := metadata.NewClient(a.client).GetWithContext(ctx, "instance/service-accounts/default/token?scopes="+url.QueryEscape(scope))
	if err != nil {
		return nil, fmt.Errorf("asking the metadata server: %w", err)
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	if json.Unmarshal([]byte(text), &answer) != nil || answer.AccessToken == "" || answer.ExpiresIn <= 0 {
		return nil, errNoToken
	}
	return &auth.Token{Value: answer.AccessToken, Expiry: a.clock.Now().Add(time.Duration(answer.ExpiresIn) * time.Second)}, nil
}

// file reads the file that the environment names. It was written by the
// administrator of the hub, so that its types are not restricted.
func (a ambient) file() (*auth.Credentials, error) {
	file, err := googlecredentials.DetectDefault(&googlecredentials.DetectOptions{
		Scopes: []string{scope}, Client: a.client, DisableAsyncRefresh: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, fmt.Errorf("reading the file that %s names: %w", environmentFile, err)
	}
	return file, nil
}

// name returns the identity of the machine or pod, as far as it is known.
func (a ambient) name(ctx context.Context) string {
	if os.Getenv(environmentFile) != "" {
		var file struct {
			ClientEmail string `json:"client_email"`
		}
		if found, err := a.file(); err == nil && json.Unmarshal(found.JSON(), &file) == nil && file.ClientEmail != "" {
			return file.ClientEmail
		}
		return "the identity of " + environmentFile
	}
	email, err := metadata.NewClient(a.client).GetWithContext(ctx, "instance/service-accounts/default/email")
	if err != nil || strings.TrimSpace(email) == "" {
		return "the identity of the machine"
	}
	return strings.TrimSpace(email)
}
