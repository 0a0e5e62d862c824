package database

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestLoginURL reads the URL of a login as drivers do, by net/url.
func TestLoginURL(t *testing.T) {
	t.Parallel()
	for _, engine := range []v1.Engine{v1.EnginePostgreSQL, v1.EngineMySQL} {
		spec := testSpec(engine, "15.4")
		for _, text := range []string{"plain-1_2.3~4", "p@ss", "a/b", "a#b", "a?b=c&d", "a:b", "50%", "%41", "a b", "a+b", "$&,;=!*'()", `[\]"^|<>{}` + "`", "pässwörd 密码", awkward} {
			login := Login{Owner: "shop", Username: text, Password: text + "x", Database: text}
			secret, err := spec.LoginSecret(login)
			if err != nil {
				t.Fatal(err)
			}
			raw := string(secret.Data[URLKey])
			got, err := url.Parse(raw)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			password, _ := got.User.Password()
			if got.Scheme != string(engine) || got.Host != fmt.Sprintf("%s:%d", spec.Host(), spec.Port()) ||
				got.User.Username() != text || password != text+"x" || got.Path != "/"+text || got.RawQuery != "" || got.Fragment != "" {
				t.Errorf("%q: %s is read as %+v", text, raw, got)
			}
			if strings.Trim(raw, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%:/@") != "" || strings.Count(raw, "@") != 1 || strings.Count(raw, ":") != 3 {
				t.Errorf("%q: %s has characters that parsers understand differently", text, raw)
			}
		}
	}
}
