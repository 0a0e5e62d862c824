package report

import (
	"regexp"
	"slices"
	"strings"
)

// Redacted replaces what looks like a credential.
const Redacted = "REDACTED"

// sensitive matches names of fields, flags and variables whose values are credentials.
const sensitive = `password|passwd|passphrase|pwd|secret|token|api[-_.]?key|access[-_.]?key|account[-_.]?key|private[-_.]?key|client[-_.]?key|` +
	`credential|signature|cookie|kubeconfig|connection[-_]?string|\bsig\b|\bdsn\b`

// rule replaces the matches of an expression in a line.
type rule struct {
	match *regexp.Regexp
	with  string
	// signs are texts in lower case. A line with a match has at least one of them, so that
	// most lines of a long log need no expression.
	signs []string
}

// Redactor replaces credentials. It is safe for concurrent use.
type Redactor struct {
	rules []rule
	// block matches PEM blocks, also with escaped line breaks, and also those without an end.
	block *regexp.Regexp
	// name matches names of fields that have credentials, and safe matches the exceptions:
	// the name of a Secret is no secret.
	name, safe *regexp.Regexp
}

// NewRedactor returns a redactor.
func NewRedactor() *Redactor {
	words := []string{"pass", "pwd", "secret", "token", "key", "credential", "sig", "cookie", "kubeconfig", "connection", "dsn"}
	return &Redactor{
		block: regexp.MustCompile(`-----BEGIN [A-Z0-9 ]+-----[\s\S]*?(-----END [A-Z0-9 ]+-----|\z)`),
		name:  regexp.MustCompile(`(?i)` + sensitive),
		safe:  regexp.MustCompile(`(?i)(name|ref|refs|reference|time|ttl|count|seconds|enabled)$`),
		rules: []rule{
			// PEM blocks in base64, as in kubeconfigs.
			newRule(`LS0tLS1CRUdJTi[A-Za-z0-9+/=]+`, Redacted, "ls0tls1crudjti"),
			// User and password in URLs: up to the last @ before a space or a quote.
			newRule(`://[^\s/"'?#]+@`, "://"+Redacted+"@", "://"),
			newRule(`://[^\s/@:"']*:[^\s"'<>]+@`, "://"+Redacted+"@", "://"),
			newRule(`(?i)\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{6,}`, "${1}${2}"+Redacted, "bearer", "basic"),
			// Tokens by their form: JWT, cloud providers and forges.
			newRule(`eyJ[A-Za-z0-9_-]{4,}(\.[A-Za-z0-9_-]*)*`, Redacted, "eyj"),
			newRule(`\b(AKIA|ASIA|AIDA|AROA)[A-Z0-9]{12,}\b`, Redacted, "akia", "asia", "aida", "aroa"),
			newRule(`\b(ya29\.|AIza)[A-Za-z0-9._-]+`, Redacted, "ya29.", "aiza"),
			newRule(`\b(gh[pousr]_|xox[a-z]-)[A-Za-z0-9-]{10,}`, Redacted, "gh", "xox"),
			// Those of forges, registries, Vault, Grafana and payments, by the prefixes that gitleaks knows.
			newRule(`\b(github_pat_|gl(pat|ptt|dt|rt|ft|soat|cbt|agent|imt)-|npm_|pypi-|dckr_[po]at_|hv[sbr]\.|glsa_|xapp-|shp(at|ca|pa|ss)_|dop_v1_|[sr]k_(live|test|prod)_)[A-Za-z0-9_-]{16,}`,
				Redacted, "github_pat_", "gl", "npm_", "pypi-", "dckr_", "hv", "xapp-", "shp", "dop_v1_", "k_live_", "k_test_", "k_prod_"),
			// key=value and "key": "value", also with escaped quotes.
			newRule(`(?i)((?:`+sensitive+`)[\w.-]*\\?["']?\s*[:=]\s*)(\\"(?:[^"\\]|\\[^"])*\\"|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&}\]"'\\]+)`, "${1}"+Redacted, words...),
			// --flag value.
			newRule(`(?i)(--?[\w-]*(?:`+sensitive+`)[\w-]*\s+)([^\s-]\S*)`, "${1}"+Redacted, words...),
		},
	}
}

func newRule(match, with string, signs ...string) rule {
	return rule{match: regexp.MustCompile(match), with: with, signs: signs}
}

// Text replaces what looks like a credential in a text.
func (r *Redactor) Text(text string) string {
	if begin, end := strings.Index(text, "-----BEGIN "), strings.Index(text, "-----END "); end >= 0 && (begin < 0 || begin > end) {
		text = Redacted + text[end:] // A PEM block that begins before the text.
	}
	if strings.Contains(text, "-----BEGIN ") {
		text = r.block.ReplaceAllString(text, Redacted)
	}
	var clean strings.Builder
	for line := range strings.Lines(text) {
		clean.WriteString(r.line(line))
	}
	return clean.String()
}

func (r *Redactor) line(line string) string {
	lower := strings.ToLower(line)
	for _, rule := range r.rules {
		if slices.ContainsFunc(rule.signs, func(sign string) bool { return strings.Contains(lower, sign) }) {
			line = rule.match.ReplaceAllString(line, rule.with)
		}
	}
	return line
}

// maxAnnotation is the length, in bytes, from which an annotation counts as a document.
const maxAnnotation = 512

// lastApplied is the annotation in which kubectl apply stores the object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Object replaces what looks like a credential in an object, which is changed.
func (r *Redactor) Object(object map[string]any) {
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, lastApplied)
		}
	}
	r.fields(object)
}

// fields replaces credentials in the values of a map.
func (r *Redactor) fields(object map[string]any) {
	for key, value := range object {
		switch key {
		case "env":
			object[key] = r.variables(value)
		case "annotations":
			object[key] = r.documents(value)
		case "pendingChanges":
			object[key] = r.changes(value)
		default:
			object[key] = r.value(key, value)
		}
	}
}

// value returns a value of a key without credentials.
func (r *Redactor) value(key string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		r.fields(v)
	case []any:
		for i := range v {
			v[i] = r.value(key, v[i])
		}
	case string:
		if v != "" && r.name.MatchString(key) && !r.safe.MatchString(key) {
			return Redacted
		}
		return r.Text(v)
	}
	return value
}

// variables replaces the values of environment variables: any may be a credential.
func (r *Redactor) variables(list any) any {
	items, ok := list.([]any)
	if !ok {
		return Redacted
	}
	for _, item := range items {
		variable, ok := item.(map[string]any)
		if !ok {
			continue
		}
		r.fields(variable)
		if _, has := variable["value"]; has {
			variable["value"] = Redacted
		}
	}
	return items
}

// documents replaces the annotations that hold a document, as many tools store whole objects.
func (r *Redactor) documents(annotations any) any {
	values, ok := annotations.(map[string]any)
	if !ok {
		return annotations
	}
	for key, value := range values {
		text, ok := value.(string)
		if ok && (len(text) > maxAnnotation || strings.HasPrefix(strings.TrimSpace(text), "{") || strings.HasPrefix(strings.TrimSpace(text), "[")) {
			values[key] = Redacted
			continue
		}
		values[key] = r.value(key, value)
	}
	return values
}

// changes removes the values of changes that are held back, which may be values of
// environment variables. It keeps their paths.
func (r *Redactor) changes(list any) any {
	items, ok := list.([]any)
	if !ok {
		return list
	}
	for _, item := range items {
		change, ok := item.(map[string]any)
		if !ok {
			continue
		}
		fields, _ := change["fields"].([]any)
		for i := range fields {
			text, _ := fields[i].(string)
			fields[i], _, _ = strings.Cut(text, ": ")
		}
		r.fields(change)
	}
	return items
}
