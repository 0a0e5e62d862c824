package matrix

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// output holds the output of go test -json for two providers.
const output = `{"Action":"run","Package":"m/cloud/aws","Test":"TestContract"}
{"Action":"run","Package":"m/cloud/aws","Test":"TestContract/01_one_becomes_Ready"}
{"Action":"pass","Package":"m/cloud/aws","Test":"TestContract/01_one_becomes_Ready"}
{"Action":"output","Package":"m/cloud/aws","Test":"TestContract/20_classes","Output":"    volumes.go:1: unsupported: covered elsewhere\n"}
{"Action":"skip","Package":"m/cloud/aws","Test":"TestContract/20_classes"}
# a line of a compiler
{"Action":"pass","Package":"m/cloud/fake","Test":"TestContract/tags/01_one_becomes_Ready"}
{"Action":"output","Package":"m/cloud/fake","Test":"TestContract/tags/20_classes","Output":"    volumes.go:1: unsupported: covered elsewhere\n"}
{"Action":"skip","Package":"m/cloud/fake","Test":"TestContract/tags/20_classes"}
{"Action":"pass","Package":"m/cloud/fake","Test":"TestContract/tags/random_faults"}
{"Action":"fail","Package":"m/cloud/fake","Test":"TestContract/tags/random_faults/seed_3"}
{"Action":"pass","Package":"m/cloud/aws","Test":"TestContract/random_faults"}
{"Action":"fail","Package":"m/cloud/aws","Test":"TestSomethingElse/01_one"}
{"Action":"pass","Package":"m/cloud/aws/objectstore","Test":"TestContract/51_what_is_put_is_read"}
{"Action":"pass","Package":"m/cloud/aws/objectstore","Test":"TestContractEndpoint/51_what_is_put_is_read"}
{"Action":"output","Package":"m/cloud/fake/bucket","Test":"TestContract/51_what_is_put_is_read","Output":"    run.go:1: unsupported: it has no reader\n"}
{"Action":"skip","Package":"m/cloud/fake/bucket","Test":"TestContract/51_what_is_put_is_read"}
`

func TestMarkdown(t *testing.T) {
	t.Parallel()
	table, err := Read(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	want := `| case | aws | memory tags |
|---|:-:|:-:|
| 1 one becomes Ready | ✓ | ✓ |
| 20 classes | – 1 | – 1 |
| random faults | ✓ | ✓ |

1. covered elsewhere

Buckets:

| case | aws | aws endpoint | memory |
|---|:-:|:-:|:-:|
| 51 what is put is read | ✓ | ✓ | – 1 |

1. it has no reader
`
	if diff := cmp.Diff(want, table.Markdown()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if problems := table.Problems(); len(problems) > 0 {
		t.Errorf("problems %q of what passed", problems)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		more string
		want []string
	}{
		"a case failed": {
			`{"Action":"fail","Package":"m/cloud/aws","Test":"TestContract/01_one_becomes_Ready"}`,
			[]string{"01 one becomes Ready: failed with aws"},
		},
		"a case that only one provider has": {
			`{"Action":"pass","Package":"m/cloud/aws","Test":"TestContract/02_more"}`,
			[]string{"02 more: did not finish with memory tags"},
		},
		"a case about buckets failed": {
			`{"Action":"fail","Package":"m/cloud/gcp/objectstore","Test":"TestContract/51_what_is_put_is_read"}`,
			[]string{"51 what is put is read: failed with gcp"},
		},
		"a case that never ended": {
			`{"Action":"run","Package":"m/cloud/aws","Test":"TestContractMoto/01_one_becomes_Ready"}`,
			[]string{
				"01 one becomes Ready: did not finish with aws moto",
				"20 classes: did not finish with aws moto",
				"random faults: did not finish with aws moto",
			},
		},
		"skipped without a reason": {
			`{"Action":"skip","Package":"m/cloud/aws","Test":"TestContract/01_one_becomes_Ready"}`,
			[]string{"01 one becomes Ready: skipped with aws, without a reason"},
		},
		"a package that does not compile": {
			`{"Action":"build-fail","ImportPath":"m/cloud/gcp"}` + "\n" + `{"Action":"fail","Package":"m/cloud/gcp"}`,
			[]string{"package m/cloud/gcp: failed"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, err := Read(strings.NewReader(output + tt.more))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, table.Problems()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	before, _, _ := strings.Cut(output, `{"Action":"pass","Package":"m/cloud/aws/objectstore"`)
	for _, text := range []string{"nothing\n", before} {
		if _, err := Read(strings.NewReader(text)); !errors.Is(err, errNoCases) {
			t.Errorf("error %v for no cases, want %v", err, errNoCases)
		}
	}
}
