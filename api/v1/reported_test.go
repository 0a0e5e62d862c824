package v1

import (
	"strings"
	"testing"
)

func TestValidServer(t *testing.T) {
	t.Parallel()
	const version, image = "8.4.2-debian", "eu.example.com:5000/mysql:8.4.2@sha256:ab_C"
	long := strings.Repeat("1", 64)
	for _, in := range []DatabaseServer{
		{version, image}, {long, image}, {version, long + strings.Repeat("b", 448)},
	} {
		if got := ValidServer(&in); got == nil || got == &in || *got != in {
			t.Errorf("%v: %v", in, got)
		}
	}
	for _, in := range []DatabaseServer{
		{}, {version, ""}, {"", image}, {long + "1", image}, {version, long + strings.Repeat("b", 449)},
		{version, "a b"}, {version, "mysql\x00"}, {"8\n", image}, {version, ":8"}, {"Ä", image}, {version, "["},
	} {
		if got := ValidServer(&in); got != nil {
			t.Errorf("%v: %v", in, got)
		}
	}
	if ValidServer(nil) != nil {
		t.Error("there is none")
	}
}

func TestValidReason(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		ReasonRunning: ReasonRunning, "A": "A", "A1_b": "A1_b", "A:b,c": "A:b,c",
		"": "Other", "1A": "Other", "_A": "Other", "A b": "Other", "A:": "Other", "A,": "Other", "\xc1": "Other", "Ä": "Other", "[": "Other", "@a": "Other",
		strings.Repeat("a", 64): strings.Repeat("a", 64), strings.Repeat("a", 65): "Other",
	} {
		if got := ValidReason(in, "Other"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
