package invariants

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// shortest is the length in bytes from which a value is searched for.
const shortest = 8

// Confidential returns the confidential values of Secrets, by namespace, name and key, in the
// forms in which they could appear elsewhere.
func Confidential(secrets []corev1.Secret) map[string][]string {
	found := map[string][]string{}
	for i := range secrets {
		s := &secrets[i]
		for key, value := range s.Data {
			name := s.Namespace + "/" + s.Name + " " + key
			encoded := base64.StdEncoding.EncodeToString(value)
			switch {
			case key == v1.KubeconfigKey:
				inside, err := InKubeconfig(value)
				if err != nil {
					continue // One that a test made invalid.
				}
				found[name] = append(inside, encoded)
			case strings.Contains(key, "password"), strings.Contains(key, "token"), strings.Contains(key, "secret"):
				found[name] = []string{string(value), encoded}
			case strings.HasSuffix(key, ".key"):
				// A line in the middle: the first and the last are the same in all.
				lines := strings.Split(strings.TrimSpace(string(value)), "\n")
				found[name] = []string{lines[len(lines)/2], encoded}
			}
		}
	}
	return found
}

// InKubeconfig returns the credentials in a kubeconfig.
func InKubeconfig(raw []byte) ([]string, error) {
	parsed, err := clientcmd.Load(raw)
	if err != nil {
		return nil, fmt.Errorf("reading a kubeconfig: %w", err)
	}
	var found []string
	for _, user := range parsed.AuthInfos {
		found = append(found, user.Token, user.Password, string(user.ClientKeyData))
	}
	return slices.DeleteFunc(found, func(s string) bool { return s == "" }), nil
}

// Leaks returns a line for each confidential value in a text. Both have names. Values of less
// than 8 bytes are not searched for.
func Leaks(confidential map[string][]string, texts map[string]string) []string {
	var found []string
	for name, values := range confidential {
		for _, value := range values {
			if len(value) < shortest {
				continue
			}
			for text, content := range texts {
				if strings.Contains(content, value) {
					found = append(found, fmt.Sprintf("%s contains %s", text, name))
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Reports returns what Shopfleet reported about its objects, and the requests of its accounts,
// by cluster.
func Reports(l Logs) map[string]string {
	texts := map[string]string{}
	for cluster, log := range l {
		var all strings.Builder
		for _, e := range log {
			if own(e) {
				all.WriteString(e.URI + " " + e.Object + "\n")
			}
		}
		texts["the audit log of "+cluster] = all.String()
	}
	return texts
}
