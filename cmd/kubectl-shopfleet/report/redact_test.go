package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hush stands for a credential.
const hush = "hush1234hush"

func TestText(t *testing.T) {
	t.Parallel()
	r := NewRedactor()
	for name, text := range map[string]string{
		"a URL":                       "dialing postgres://shop:" + hush + "@db:5432/shop failed",
		"a URL with a slash":          "postgres://shop:pa/ss" + hush + "@db:5432/shop",
		"a URL with an at":            "postgres://shop:p@ss" + hush + "@db/shop",
		"a URL with a token":          "https://" + hush + "@example.com/repository.git",
		"a signed URL":                "PUT https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIAX%2F2026&X-Amz-Signature=" + hush + "&x=1",
		"a shared access signature":   "https://a.blob.core.windows.net/c?sv=2024&sig=" + hush + "&se=2026",
		"a header":                    "Authorization: Bearer " + hush,
		"basic authentication":        `"Authorization": ["Basic ` + hush + `"]`,
		"a JWT":                       "presented eyJhbGciOiJSUzI1NiJ9." + hush + "." + hush,
		"an access key":               "caller AKIA" + strings.ToUpper(hush) + "AA",
		"a variable":                  "PGPASSWORD=" + hush + " psql",
		"a quoted variable":           `password = "a b ` + hush + `" host=db`,
		"JSON":                        `{"level":"info","token":"` + hush + `","msg":"x"}`,
		"escaped JSON":                `{"msg":"body {\"clientSecret\":\"` + hush + `\"}"}`,
		"YAML":                        "apiKey: " + hush,
		"a flag":                      "running mysql --password " + hush + " -h db",
		"a flag with =":               "running mysql --password=" + hush + " -h db",
		"a PEM block":                 "-----BEGIN RSA PRIVATE KEY-----\n" + hush + "\n-----END RSA PRIVATE KEY-----\nnext",
		"an escaped PEM block":        `key "-----BEGIN PRIVATE KEY-----\n` + hush + `\n-----END PRIVATE KEY-----\n" is bad`,
		"a PEM block without an end":  "-----BEGIN PRIVATE KEY-----\n" + hush,
		"the end of a PEM block":      hush + "\n-----END PRIVATE KEY-----\n",
		"a kubeconfig":                "client-key-data: LS0tLS1CRUdJTi" + hush + "==",
		"a PEM block in base64":       "data LS0tLS1CRUdJTi" + hush + "==",
		"a connection string":         "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + hush + "==;x=y",
		"a token of a forge":          "ghp_" + hush + hush,
		"a token of a cloud provider": "ya29." + hush,
		"a fine-grained token":        "cloning with github_pat_11AB" + hush + "_" + hush,
		"a token of GitLab":           "glpat-" + hush + hush,
		"a deploy token of GitLab":    "gldt-" + hush + hush,
		"a token of npm":              "npm_" + hush + hush,
		"a token of PyPI":             "pypi-AgEI" + hush + hush,
		"a token of Docker":           "dckr_pat_" + hush + hush,
		"a token of Vault":            "hvs." + hush + hush,
		"a token of Grafana":          "glsa_" + hush + hush,
		"a key of a payment provider": "sk_live_" + hush + hush,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := r.Text(text)
			if strings.Contains(strings.ToLower(got), hush) || !strings.Contains(got, Redacted) {
				t.Errorf("%q became %q", text, got)
			}
		})
	}
}

// TestTextKeeps: what is needed to understand a problem stays.
func TestTextKeeps(t *testing.T) {
	t.Parallel()
	r := NewRedactor()
	for _, text := range []string{
		`reading Secret "shopfleet-system/eu-1": not found`,
		"the hub cannot reach https://eu-1.example.com:6443/readyz?verbose: dial tcp 10.0.0.1:6443: i/o timeout",
		"Reconciler error controller=ecommerceapp namespace=production name=shop error=conflict",
		"image registry.example.com/shop@sha256:0123456789abcdef",
		"ServiceAccount shopfleet-system/shopfleet-hub",
		"running npm_config in hvs.example.com for shop_live_orders of the glossary",
	} {
		if got := r.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	object := map[string]any{
		"kind": "EcommerceApp",
		"metadata": map[string]any{
			"name": "shop", "managedFields": []any{map[string]any{"manager": hush}},
			"annotations": map[string]any{
				lastApplied: hush, "example.com/document": `{"a":"` + hush + `"}`, "example.com/token": hush,
				"example.com/long": strings.Repeat(hush, 100), "example.com/note": "see ticket 7",
			},
		},
		"spec": map[string]any{
			"backend": map[string]any{"env": []any{
				map[string]any{"name": "LEVEL", "value": hush},
				map[string]any{"name": "KEY", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "shop", "key": "k"}}},
			}},
			"database": map[string]any{"credentialsSecretRef": map[string]any{"name": "shop-login"}, "password": hush, "apiKey": hush},
			"args":     []any{"--password=" + hush, "--level=3"},
			"tokens":   []any{hush},
			"env":      hush,
		},
		"status": map[string]any{
			"message": "https://u:" + hush + "@db", "ready": int64(2),
			"pendingChanges": []any{map[string]any{"kind": "Deployment", "name": "shop", "fields": []any{"spec.env[0].value: " + hush + " -> " + hush}}},
		},
	}
	want := map[string]any{
		"kind": "EcommerceApp",
		"metadata": map[string]any{
			"name": "shop",
			"annotations": map[string]any{
				"example.com/document": Redacted, "example.com/token": Redacted, "example.com/long": Redacted, "example.com/note": "see ticket 7",
			},
		},
		"spec": map[string]any{
			"backend": map[string]any{"env": []any{
				map[string]any{"name": "LEVEL", "value": Redacted},
				map[string]any{"name": "KEY", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "shop", "key": "k"}}},
			}},
			"database": map[string]any{"credentialsSecretRef": map[string]any{"name": "shop-login"}, "password": Redacted, "apiKey": Redacted},
			"args":     []any{"--password=" + Redacted, "--level=3"},
			"tokens":   []any{Redacted},
			"env":      Redacted,
		},
		"status": map[string]any{
			"message": "https://" + Redacted + "@db", "ready": int64(2),
			"pendingChanges": []any{map[string]any{"kind": "Deployment", "name": "shop", "fields": []any{"spec.env[0].value"}}},
		},
	}
	NewRedactor().Object(object)
	if diff := cmp.Diff(want, object); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
}
