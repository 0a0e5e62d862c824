package order

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// maxTermination is the size of a termination message that the kubelet keeps, in bytes.
const maxTermination = 4096

func TestChecksums(t *testing.T) {
	t.Parallel()
	sums := Checksums{0, 1, 0xffffffff}
	if got := sums.Of(1); got != "AAAAAQ==" {
		t.Errorf("the second is %q", got)
	}
	got, err := ReadChecksums(sums.String()+"\n", 3)
	if diff := cmp.Diff(sums, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if size := len(make(Checksums, MaxParts).String()); size != 1068 || size > maxTermination {
		t.Errorf("%d bytes for an Order of %d parts", size, MaxParts)
	}
	for name, text := range map[string]string{"empty": "", "short": Checksums{1}.String(), "long": make(Checksums, 3).String(), "other": "SIGNATURE"} {
		if _, err := ReadChecksums(text, 2); !errors.Is(err, errOrder) || strings.Contains(err.Error(), "SIGNATURE") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
