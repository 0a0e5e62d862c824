package commands

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// nowhere writes a kubeconfig for a server that does not exist.
func nowhere(t *testing.T) string {
	t.Helper()
	file := clientcmdapi.NewConfig()
	file.CurrentContext = "c"
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	file.AuthInfos["c"] = &clientcmdapi.AuthInfo{Token: "hush"}
	file.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "c"}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs the program and returns its exit code and its output.
func run(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	return runAs(t, program, args...)
}

func runAs(t *testing.T, name string, args ...string) (code int, out, errOut string) {
	t.Helper()
	streams, _, stdout, stderr := genericiooptions.NewTestIOStreams()
	code = New(Invocation{Args: append([]string{"/usr/bin/" + name}, args...), Version: "v9", Streams: streams}).Run(t.Context())
	return code, stdout.String(), stderr.String()
}

// exit is the end of a run.
type exit struct {
	args []string
	code int
	say  string
}

func TestExitCodes(t *testing.T) {
	hub := nowhere(t)
	checkExits(t, hub, map[string]exit{
		"help":                    {nil, exitDone, ""},
		"client version":          {[]string{"version", "--client"}, exitDone, ""},
		"unknown command":         {[]string{"statuz"}, exitUsage, "Did you mean status?"},
		"unknown verb of a group": {[]string{"rollout", "udno"}, exitUsage, "Did you mean undo?"},
		"the help of the verb":    {[]string{"rollout", "undo"}, exitUsage, "See: kubectl shopfleet rollout undo --help"},
		"nothing similar":         {[]string{"rediscovery"}, exitUsage, `unknown command "rediscovery"`},
		"unknown flag":            {[]string{"status", "--colour"}, exitUsage, "unknown flag: --colour"},
		"unknown format":          {[]string{"status", "-o", "xml"}, exitUsage, "must be one of json, yaml"},
		"join without a name":     {[]string{"join"}, exitUsage, "accepts 1 arg"},
		"join without a member":   {[]string{"join", "eu-1"}, exitUsage, "--member-kubeconfig is required"},
		"join with a bad name":    {[]string{"join", "EU", "--member-kubeconfig", hub}, exitUsage, "invalid name for a member"},
		"join with a bad cloud":   {[]string{"join", "eu-1", "--member-kubeconfig", hub, "--provider", "ibm"}, exitUsage, "must be aws, gcp, azure or other"},
		"join with a short token": {[]string{"join", "eu-1", "--member-kubeconfig", hub, "--token-ttl", "1m"}, exitUsage, "at least 10m"},
		"join without the file":   {[]string{"join", "eu-1", "--member-kubeconfig", hub + ".no"}, exitFailed, "no such file"},
		"delete what":             {[]string{"delete"}, exitUsage, "either names, --selector or --all"},
		"delete some of all":      {[]string{"delete", "shop", "--all"}, exitUsage, "either names, --selector or --all"},
		"delete for ever":         {[]string{"delete", "shop", "--timeout", "-1s"}, exitUsage, "must not be negative"},
		"orphans of what":         {[]string{"recover", "adopt"}, exitUsage, "accepts 1 arg"},
		"import from where":       {[]string{"recover", "import", "shop"}, exitUsage, "--member is required"},
		"render-now nothing":      {[]string{"rollout", "render-now"}, exitUsage, "requires the name of an EcommerceApp, or --all"},
		"render-now one of all":   {[]string{"rollout", "render-now", "shop", "--all"}, exitUsage, "a name cannot be used with --all"},
		"render-now everywhere":   {[]string{"rollout", "render-now", "shop", "-A"}, exitUsage, "--all-namespaces requires --all"},
		"recover one of all":      {[]string{"recover", "list", "shop", "-A"}, exitUsage, "a name cannot be used with --all-namespaces"},
		"recover many":            {[]string{"recover", "list", "shop", "other"}, exitUsage, "accepts at most 1 arg"},
	})
}

func TestMoreExitCodes(t *testing.T) {
	hub := nowhere(t)
	checkExits(t, hub, map[string]exit{
		"a pull Secret's name":    {[]string{"install", "hub", "--image-pull-secret", "one,two"}, exitUsage, `--image-pull-secret "one,two"`},
		"a runbook without host":  {[]string{"install", "hub", "--runbook-url", "runbook.md"}, exitUsage, `--runbook-url "runbook.md"`},
		"a runbook with a place":  {[]string{"join", "a", "--member-kubeconfig", hub, "--runbook-url", "https://wiki/alerts#one"}, exitUsage, "neither spaces nor a #"},
		"a pull Secret twice":     {[]string{"join", "a", "--member-kubeconfig", hub, "--image-pull-secret", "m", "--image-pull-secret", "m"}, exitUsage, "is given twice"},
		"a link to a program":     {[]string{"ui", "--grafana", "javascript:alert(1)"}, exitUsage, "must be an http or https URL"},
		"a link with a password":  {[]string{"ui", "--grafana", "https://a:b@grafana.example.com"}, exitUsage, "without credentials"},
		"recover as a trial":      {[]string{"recover", "take-over", "eu-1", "--dry-run=maybe"}, exitUsage, "Invalid dry-run value (maybe)"},
		"unjoin half revoked":     {[]string{"unjoin", "eu-1", "--revoke"}, exitUsage, "require --member-kubeconfig"},
		"unjoin of none":          {[]string{"unjoin"}, exitUsage, "either names, --selector or --all"},
		"revoke of many":          {[]string{"unjoin", "a", "b", "--revoke", "--member-kubeconfig", hub}, exitUsage, "for one member"},
		"renew of none":           {[]string{"renew"}, exitUsage, "either names, --selector or --all"},
		"renew of many":           {[]string{"renew", "a", "b", "--member-kubeconfig", hub}, exitUsage, "for one member"},
		"a short renewed token":   {[]string{"renew", "a", "--token-ttl", "1m"}, exitUsage, "at least 10m"},
		"renewing does not wait":  {[]string{"renew", "a", "--timeout", "-1s"}, exitUsage, "must not be negative"},
		"nor for a renewal":       {[]string{"renew", "a"}, exitFailed, "The cluster does not answer"},
		"a lost volume, verified": {[]string{"restore", "b", "--verify", "--overwrite"}, exitUsage, "cannot be used with --overwrite"},
		"a diff that fails":       {[]string{"diff", "shop"}, exitFailed, "The cluster does not answer"},
		"a diff of what":          {[]string{"diff"}, exitUsage, "accepts 1 arg"},
		"a hub that is away":      {[]string{"doctor"}, exitFailed, "The cluster does not answer"},
		"a name of no object":     {[]string{"why", "shop", "-o", "name"}, exitUsage, "must be one of json, yaml"},
		"a broken template":       {[]string{"backup", "list", "-o", "jsonpath={"}, exitUsage, "--output"},
		"wide without a table":    {[]string{"backup", "create", "shop", "-o", "wide"}, exitUsage, "must be one of json, yaml"},
		"bad selector":            {[]string{"status", "-l", "a=b=c"}, exitUsage, "--selector"},
		"a region of an object":   {[]string{"status", "shop", "--region", "eu", "-o", "json"}, exitUsage, "--region cannot be used with --output json"},
		"one, sorted":             {[]string{"status", "shop", "--sort-by", ".metadata.name"}, exitUsage, "--sort-by cannot be used with a name"},
		"one with labels":         {[]string{"status", "shop", "--show-labels"}, exitUsage, "--show-labels cannot be used with a name"},
		"one with a label":        {[]string{"status", "shop", "-w", "-L", "tier"}, exitUsage, "--label-columns cannot be used with a name"},
		"one of fields":           {[]string{"status", "shop", "--field-selector", "metadata.name=a"}, exitUsage, "--field-selector cannot be used with a name"},
		"a region of all":         {[]string{"status", "--region", "eu"}, exitUsage, "requires the name of an EcommerceApp"},
		"cordon some of all":      {[]string{"cordon", "eu-1", "--all"}, exitUsage, "either names, --selector or --all"},
		"restart nothing":         {[]string{"rollout", "restart"}, exitUsage, "either names, --selector or --all"},
		"undo what":               {[]string{"restore", "undo"}, exitUsage, "See: kubectl shopfleet restore undo --help"},
		"undo for ever":           {[]string{"restore", "undo", "r", "--timeout", "-1s"}, exitUsage, "must not be negative"},
		"undo does not answer":    {[]string{"restore", "undo", "r"}, exitFailed, "The cluster does not answer"},
		"install where":           {[]string{"install", "hub", "-n", "other"}, exitUsage, "with --hub-namespace"},
		"uninstall where":         {[]string{"uninstall", "spoke", "-n", "other"}, exitUsage, "with --hub-namespace"},
		"a mirror's URL":          {[]string{"images", "--mirror", "https://mirror.example.com"}, exitUsage, "must be a host"},
		"images of the hub":       {[]string{"images", "-A"}, exitFailed, "The cluster does not answer"},
		"pause what":              {[]string{"pause"}, exitUsage, "requires at least 1 arg"},
		"pause a backup":          {[]string{"pause", "backup", "a"}, exitUsage, "must be one of app, member"},
		"pause no app":            {[]string{"pause", "app"}, exitUsage, "either names, --selector or --all"},
		"pause some of some":      {[]string{"unpause", "member", "eu-1", "-l", "a=b"}, exitUsage, "either names, --selector or --all"},
		"the rollout of what":     {[]string{"rollout", "status"}, exitUsage, "accepts 1 arg"},
		"an archive of a member":  {[]string{"doctor", "eu-1", "--archive", "a.tar.gz"}, exitUsage, "omit eu-1"},
		"hub does not answer":     {[]string{"status"}, exitFailed, "The cluster does not answer"},
		"nor for a watch":         {[]string{"status", "-w"}, exitFailed, "The cluster does not answer"},
		"nor for a join":          {[]string{"join", "eu-1", "--member-kubeconfig", hub}, exitFailed, "The cluster does not answer"},
	})
}

// TestExitCodesOfPlan: 1 means changes, and nothing else.
func TestExitCodesOfPlan(t *testing.T) {
	hub, folder := nowhere(t), t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const app = "{apiVersion: ecommerce.io/v1, kind: EcommerceApp, metadata: {name: shop, namespace: production}}\n"
	one, secret := write("app.yaml", app), write("secret.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: s}}\n")
	two, text := write("two.yaml", app+"---\n"+app), write("text.yaml", "hello")
	checkExits(t, hub, map[string]exit{
		"of what":           {[]string{"plan"}, exitUsage, "--filename is required"},
		"of an argument":    {[]string{"plan", "shop"}, exitUsage, "unknown command"},
		"unknown flag":      {[]string{"plan", "--colour"}, exitUsage, "unknown flag: --colour"},
		"for ever":          {[]string{"plan", "-f", one, "--timeout", "-1s"}, exitUsage, "must not be negative"},
		"by force":          {[]string{"plan", "-f", one, "--force-conflicts"}, exitUsage, "requires --server-side"},
		"unknown format":    {[]string{"plan", "-f", one, "-o", "xml"}, exitUsage, "must be one of json, yaml"},
		"no such file":      {[]string{"plan", "-f", folder + "/none"}, exitFailed, "does not exist"},
		"a Secret":          {[]string{"plan", "-f", secret}, exitFailed, "there is no EcommerceApp"},
		"two":               {[]string{"plan", "-f", two}, exitFailed, "plan them one at a time"},
		"text":              {[]string{"plan", "-f", text}, exitFailed, "reading the manifest"},
		"another namespace": {[]string{"plan", "-f", one, "-n", "default"}, exitFailed, "not the one of --namespace"},
		"without a hub":     {[]string{"plan", "-f", one}, exitFailed, "The cluster does not answer"},
	})
}

func TestExitCodesOfInstall(t *testing.T) {
	hub := nowhere(t)
	checkExits(t, hub, map[string]exit{
		"install what":            {[]string{"install"}, exitUsage, "accepts 1 arg"},
		"install the unknown":     {[]string{"install", "spork"}, exitUsage, "must be one of hub, spoke"},
		"install none":            {[]string{"install", "hub", "--replicas", "0"}, exitUsage, "at least 1"},
		"install with no image":   {[]string{"install", "hub", "--image", "a b"}, exitUsage, "must not contain spaces"},
		"install as a trial":      {[]string{"install", "hub", "--dry-run=maybe"}, exitUsage, "Invalid dry-run value (maybe)"},
		"install, only printed":   {[]string{"install", "spoke", "--dry-run=client"}, exitDone, ""},
		"uninstall does not ask":  {[]string{"uninstall", "hub"}, exitFailed, "The cluster does not answer"},
		"uninstall, only printed": {[]string{"uninstall", "hub", "--dry-run=client"}, exitDone, ""},
		"install does not answer": {[]string{"install", "hub"}, exitFailed, "The cluster does not answer"},
	})
}

// checkExits runs commands with a hub that does not answer.
func checkExits(t *testing.T, hub string, tests map[string]exit) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := run(t, append([]string{"--kubeconfig", hub}, test.args...)...)
			if code != test.code {
				t.Errorf("exit code %d, want %d; output %q", code, test.code, errOut)
			}
			if !strings.Contains(errOut, test.say) {
				t.Errorf("output %q, want %q in it", errOut, test.say)
			}
			if strings.Contains(out+errOut, "hush") {
				t.Error("it shows a credential")
			}
		})
	}
}

func TestVersionWithoutHub(t *testing.T) {
	code, out, errOut := run(t, "--kubeconfig", nowhere(t), "version")
	if code != exitFailed || !strings.Contains(out, "v9") || !strings.Contains(errOut, "does not answer") {
		t.Errorf("exit code %d, %q, %q; want 2, the version of the program, and why there are no others", code, out, errOut)
	}
}

func TestCompletion(t *testing.T) {
	_, plain, _ := run(t, "__complete", "join", "eu-1", "--provider", "")
	_, renamed, _ := runAs(t, completer, "join", "eu-1", "--provider", "")
	if want := "aws\ngcp\nazure\nother\n"; !strings.HasPrefix(plain, want) {
		t.Errorf("completed %q, want %q", plain, want)
	}
	if diff := cmp.Diff(plain, renamed); diff != "" {
		t.Errorf("completion by kubectl differs (-plain +renamed):\n%s", diff)
	}
	_, names, _ := run(t, "--kubeconfig", nowhere(t), "__complete", "unjoin", "")
	if !strings.Contains(names, ":1") {
		t.Errorf("completed %q, want an error and no names: the hub does not answer", names)
	}
}

func TestPrint(t *testing.T) {
	kinds, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	member := v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
	other := v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "us-1"}}
	all := &v1.MemberClusterList{Items: []v1.MemberCluster{member, other}}
	tests := map[string]struct {
		format string
		object client.ObjectList
		want   []string
	}{
		"name":     {"name", all, []string{"membercluster.ecommerce.io/eu-1\nmembercluster.ecommerce.io/us-1\n"}},
		"json":     {"json", all, []string{`"kind": "MemberClusterList"`, `"kind": "MemberCluster",`}},
		"yaml":     {"yaml", all, []string{"kind: MemberClusterList", "- apiVersion: ecommerce.io/v1"}},
		"jsonpath": {"jsonpath={.items[*].metadata.name}", all, []string{"eu-1 us-1"}},
		"template": {"go-template={{range .items}}{{.kind}},{{end}}", all, []string{"MemberCluster,MemberCluster,"}},
		"empty":    {"json", &v1.MemberClusterList{Items: []v1.MemberCluster{}}, []string{`"items": []`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			streams, _, out, _ := genericiooptions.NewTestIOStreams()
			p := &Program{streams: streams}
			o := newOutput(&cobra.Command{})
			*o.chosen = test.format
			if err := o.check(); err != nil {
				t.Fatal(err)
			}
			if err := o.print(p, test.object, kinds); err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("printed %q, want %q in it", out, want)
				}
			}
		})
	}
}

// TestPrintSeparatesDocuments checks that changes printed one by one are a valid stream.
func TestPrintSeparatesDocuments(t *testing.T) {
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	p := &Program{streams: streams}
	o := newOutput(&cobra.Command{})
	*o.chosen = "yaml"
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := o.print(p, &v1.MemberCluster{}, scheme); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(out.String(), "---\n"); got != 1 {
		t.Errorf("%d separators between two documents, want 1:\n%s", got, out)
	}
}

func TestPrintDone(t *testing.T) {
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{
		"":                             "backup.ecommerce.io/a created\n",
		"name":                         "backup.ecommerce.io/a\n",
		"jsonpath={.spec.appRef.name}": "shop",
	} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		o := newOutput(&cobra.Command{})
		*o.chosen = format
		if err := o.check(); err != nil {
			t.Fatal(err)
		}
		b := &v1.Backup{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1.BackupSpec{AppRef: v1.ObjectReference{Name: "shop"}}}
		if err := o.printDone(&Program{streams: streams}, b, scheme, "created"); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%q: printed %q, want %q", format, out, want)
		}
	}
}

// lines is a writer that sends what is written to a channel.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func TestDuringNamesALongStep(t *testing.T) {
	streams, _, _, errOut := genericiooptions.NewTestIOStreams()
	clock := testclock.NewFakeClock(time.Unix(0, 0))
	p := &Program{streams: streams, clock: clock}
	errBoom := errors.New("boom")

	if err := p.during("quick", func() error { return errBoom }); !errors.Is(err, errBoom) {
		t.Errorf("got %v, want the step's error", err)
	}
	if errOut.Len() > 0 {
		t.Errorf("a quick step prints %q", errOut)
	}
	said := make(chan string, 1)
	p.streams.ErrOut = lines(said)
	var line string
	err := p.during("slow", func() error {
		clock.Step(quiet)
		line = <-said
		return nil
	})
	if err != nil || line != "slow ... (2s)\n" {
		t.Errorf("a slow step prints %q, %v", line, err)
	}
}

func TestReadiness(t *testing.T) {
	for name, test := range map[string]struct {
		observed int64
		status   metav1.ConditionStatus
		want     bool
	}{
		"ready":    {2, metav1.ConditionTrue, true},
		"outdated": {1, metav1.ConditionTrue, false},
		"not":      {2, metav1.ConditionFalse, false},
	} {
		t.Run(name, func(t *testing.T) {
			app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
			app.Status.ObservedGeneration, app.Status.Conditions = test.observed, []metav1.Condition{{Type: v1.ConditionReady, Status: test.status}}
			if got := readiness(app); got.done != test.want || got.failed {
				t.Errorf("progress %+v, want done to be %t", got, test.want)
			}
		})
	}
	if readiness(&v1.EcommerceApp{}).done {
		t.Error("an EcommerceApp without a status is ready")
	}
}
