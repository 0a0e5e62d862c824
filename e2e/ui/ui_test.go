package ui

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/page"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/setup"
)

// screenshotsVariable is the environment variable with the folder that pictures of the screens are written to.
const screenshotsVariable = "SHOPFLEET_SCREENSHOTS"

var errRollout = errors.New("the rollout is not that far")

func TestMain(m *testing.M) {
	framework.Silence()
	os.Exit(m.Run())
}

// suite is a fleet with a running hub and two regions.
type suite struct {
	*framework.Environment
	app *v1.EcommerceApp
}

func TestUI(t *testing.T) {
	s := &suite{Environment: framework.New(t, framework.Options{
		Fleet: fleet.Options{
			Hub: fleet.ClusterSpec{Name: "hub"},
			Members: []fleet.ClusterSpec{
				{Name: "eu-1", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 1},
				{Name: "asia-1", Provider: fleet.Azure, Region: "southeastasia", Nodes: 1},
			},
		},
		Health: framework.Health(),
		Hub:    func(o *setup.Options) { o.LeaderElect = true },
	})}
	const running = "the shop runs in two regions"
	var steps framework.Steps
	steps.Add("a fleet without shops", s.testEmpty)
	steps.Add(running, s.testRuns)
	steps.Add("what is forbidden is shown as such", s.testForbidden, running)
	steps.Add("the screens", s.testScreens, running)
	steps.Add("a region that does not answer is hatched until it does", s.testFreeze, running)
	steps.Add("a rollout is seen", s.testRollout, running)
	steps.Add("axe-core finds nothing in light and dark", s.testAxe, running)
	steps.Add("a tab that is opened in the background has no stream", s.testBackground, running)
	steps.Add("a hidden tab has no stream, and the page says when it is no longer live", s.testEnd, running)
	steps.Add("a hub that ends is an outage until another leads", s.testSilence, running)
	steps.Run(t)
}

// testEmpty writes a file about a hub that has nothing yet.
func (s *suite) testEmpty(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fleet.html")
	framework.CLI(t, s.Fleet.Hub(), "ui", "--once", file).
		Want(t, framework.Done, "read 0 EcommerceApps, 0 MemberClusters and 0 Backups in", "wrote "+file)
	framework.CLI(t, s.Fleet.Hub(), "ui", "--once", file).Want(t, framework.Failed, "file exists", "Choose another file with --once.")
	framework.CLI(t, s.Fleet.Hub(), "ui", "--once", "-").Want(t, framework.Done, "No hub runs", "No hub has a Lease", "default-src 'none'")
}

func (s *suite) testRuns(t *testing.T) {
	t.Helper()
	s.storeBackups(t)
	s.StartHub(t)
	s.Register(t, "eu-1", "asia-1")
	s.AwaitMembers(t, "eu-1", "asia-1")
	s.app = framework.Small("production", "shop", "eu-1", "asia-1")
	s.app.Spec.Rollout = &v1.Rollout{Order: []string{"eu-west-1"}, Soak: &metav1.Duration{Duration: time.Second}}
	s.Create(t, s.app)
	others := map[*v1.EcommerceApp]string{
		framework.Small("production", "outlet", "eu-1"): "eu-west-1", framework.Small("staging", "preview", "asia-1"): "southeastasia",
	}
	for app := range others {
		app.Spec.Database = &v1.Database{Engine: v1.EnginePostgreSQL, Version: "17", Storage: "1Gi"}
		s.Create(t, app)
	}
	s.AwaitRunning(t, s.app, "eu-west-1", "southeastasia")
	for app, region := range others {
		s.AwaitRunning(t, app, region)
	}
}

// storeBackups stores Backups as a hub with accounts leaves them, before one runs that would make them: one with a copy in
// the other region, from which it was verified, and one whose copy failed.
func (s *suite) storeBackups(t *testing.T) {
	t.Helper()
	const ready = string(cloud.StateReady)
	taken := metav1.NewTime(time.Now().Add(-20 * time.Minute))
	backup := func(namespace, app, cluster, region string, copies ...v1.CloudSnapshot) *v1.Backup {
		return apitest.Backup(app+"-"+cluster).Namespace(namespace).Of(app, cluster).With(func(b *v1.Backup) {
			b.Status = v1.BackupStatus{
				Phase: v1.BackupCompleted, Region: region, SnapshotTime: &taken, LastVerifiedTime: &taken,
				Snapshots: []v1.VolumeSnapshot{{Claim: "data", CloudSnapshot: v1.CloudSnapshot{Region: region, State: ready}, Copies: copies}},
			}
		}).Obj()
	}
	outlet := backup("production", "outlet", "eu-1", "eu-west-1", v1.CloudSnapshot{Region: "southeastasia", State: ready})
	outlet.Status.Verified = &v1.Verified{From: v1.VerifiedFrom{Region: "southeastasia", Cluster: "asia-1"}, Message: "all data was read"}
	preview := backup("staging", "preview", "asia-1", "southeastasia", v1.CloudSnapshot{Region: "eu-west-1", State: string(cloud.StateFailed)})
	preview.Status.Phase = v1.BackupPartiallyCompleted
	for _, b := range []*v1.Backup{outlet, preview} {
		framework.CreateNamespace(t, s.Hub, b.Namespace)
		if err := createWithStatus(t.Context(), s.Hub, b); err != nil {
			t.Fatal(err)
		}
	}
}

// testForbidden reads the fleet as a user who may list EcommerceApps alone, and as one who may list nothing.
func (s *suite) testForbidden(t *testing.T) {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "shops-reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{"ecommerceapps"}, Verbs: []string{"list", "watch"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "shops-reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "dev"}},
	}
	s.Create(t, role)
	s.Create(t, binding)
	framework.CLI(t, s.Fleet.Hub(), "ui", "--once", "-", "--as", "dev").Want(t, framework.Done,
		"read 3 EcommerceApps, 0 MemberClusters", "not readable: MemberClusters, Backups, Restores, CloudAccounts",
		"<strong>Forbidden</strong> You may not list MemberClusters", "You may not read the Lease of the hub", "production/shop", "Nothing of what you can see needs you")
	framework.CLI(t, s.Fleet.Hub(), "ui", "--once", "-", "--as", "stranger").Want(t, framework.Failed, "nothing can be read", "listing EcommerceApps", "forbidden")
}

// at returns the address of a screen, after the printed one was opened.
func at(t testing.TB, printed, screen string) string {
	t.Helper()
	u, err := url.Parse(printed)
	if err != nil {
		t.Fatal(err)
	}
	u.Path, u.RawQuery = u.Path+screen, ""
	return u.String()
}

// opened serves the page and opens it in a browser.
func (s *suite) opened(t *testing.T) (browser, *served) {
	t.Helper()
	b := openBrowser(t)
	page := serve(t, s.Fleet.Hub())
	b.open(t, page.url)
	return b, page
}

// testScreens walks through the screens by keys.
func (s *suite) testScreens(t *testing.T) {
	t.Helper()
	b, served := s.opened(t)
	b.await(t, "the address without the token", `location.search === ""`)
	b.press(t, "\t")
	if got := b.evaluate(t, "document.activeElement.className"); got != "skip" {
		t.Errorf("the first stop of the focus is %q, want the link to the content", got)
	}
	for _, screen := range page.Screens() {
		b.press(t, screen.Key)
		b.await(t, screen.Title, fmt.Sprintf(`location.pathname.endsWith("/%s") && document.readyState === "complete"`, screen.Name))
	}
	b.open(t, at(t, served.url, "regions"))
	b.press(t, "/")
	b.await(t, "the focus in the search", `document.activeElement.type === "search"`)
	b.press(t, "no-such-shop\r")
	b.await(t, "no shop", `document.querySelector("#view").innerText.includes("No EcommerceApp matches.")`)
}

// takePictures writes a picture of each screen, if a folder for them is named.
func takePictures(t *testing.T, b browser, printed string) {
	t.Helper()
	folder := os.Getenv(screenshotsVariable)
	for _, screen := range page.Screens() {
		address := at(t, printed, screen.Name)
		if screen.Name == "why" {
			address += "?app=production/shop" // One that is explained.
		}
		b.open(t, address)
		picture := b.picture(t)
		if folder == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, screen.Name+".png"), picture, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// stale is true in the browser while a cell is hatched.
const stale = `document.querySelector('.matrix td.stale') !== null`

// freeze freezes a region, and returns what thaws it.
func (s *suite) freeze(t *testing.T) (thaw func()) {
	t.Helper()
	member := s.Fleet.Member("asia-1")
	if err := member.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := member.Thaw(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// testFreeze freezes a region and thaws it again, with a rollout under way. The regions are loaded once.
func (s *suite) testFreeze(t *testing.T) {
	t.Helper()
	b, served := s.opened(t)
	b.open(t, at(t, served.url, "regions"))
	b.evaluate(t, "window.loadedOnce = true")
	b.await(t, "two served regions", `document.getElementById("row-production/shop").querySelectorAll("td.served").length === 2`)
	thaw := s.freeze(t)
	defer thaw()
	b.await(t, "a hatched region", stale)
	if style := b.evaluate(t, `getComputedStyle(document.querySelector('.matrix td.stale')).backgroundImage`); !strings.Contains(style, "gradient") {
		t.Errorf("what is stale is not hatched: %s", style)
	}
	first := b.text(t, ".matrix td.stale .state")
	b.await(t, "another age", fmt.Sprintf(`document.querySelector('.matrix td.stale .state').innerText !== %q`, first))
	if !strings.HasPrefix(first, "? served ") || !strings.HasSuffix(first, " ago") {
		t.Errorf("the hatched cell says %q", first)
	}
	b.press(t, "1")
	b.await(t, "the lost region", `document.querySelector("#view").innerText.includes("Region southeastasia is lost")`)
	framework.Edit(t, s.Hub, s.app, func(app *v1.EcommerceApp) { app.Spec.Image = "shop:v2" })
	b.press(t, "3")
	b.await(t, "a rollout that waits for the region", `document.querySelectorAll(".waves .turn.updated").length === 1 && document.querySelectorAll(".waves .turn").length === 2`)
	b.press(t, "4")
	b.await(t, "the age of a copy in the other region", `/the last \d/.test(document.querySelector("#view").innerText)`)
	takePictures(t, b, served.url)
	b.press(t, "2")
	b.await(t, "the regions again", stale)
	b.evaluate(t, "window.loadedOnce = true")
	thaw()
	b.await(t, "a region that is not hatched", "!("+stale+")")
	if got := b.evaluate(t, "window.loadedOnce"); got != "true" {
		t.Error("the page was loaded again")
	}
	s.AwaitRunning(t, s.app, "eu-west-1", "southeastasia")
}

// testRollout watches a new revision reach the regions.
func (s *suite) testRollout(t *testing.T) {
	t.Helper()
	b, served := s.opened(t)
	b.open(t, at(t, served.url, "moving"))
	framework.Edit(t, s.Hub, s.app, func(app *v1.EcommerceApp) { app.Spec.Image = "shop:v3" })
	b.await(t, "the rollout", `document.querySelector(".rollout") !== null && document.querySelector("#view").innerText.includes("production/shop: revision 3")`)
	b.await(t, "its end", `document.querySelector(".rollout-state.Complete") !== null`)
	b.await(t, "all clusters", `document.querySelectorAll(".turn.updated").length === 2`)
	s.AwaitApp(t, s.app, "the rollout to be complete", func(status *v1.EcommerceAppStatus) error {
		if r := status.Rollout; r == nil || r.State != v1.RolloutComplete || r.Revision != 3 {
			return errRollout
		}
		return nil
	})
}

// testSilence ends the hub, and starts another. The page is loaded once.
func (s *suite) testSilence(t *testing.T) {
	t.Helper()
	b, served := s.opened(t)
	b.open(t, at(t, served.url, "regions"))
	const current = `document.querySelector(".legend").innerText.includes("It is of now")`
	b.await(t, "a fleet of now", current)
	s.StopHub()
	b.await(t, "a fleet that is not of now", "!("+current+")")
	b.press(t, "1")
	b.await(t, "the outage", `document.querySelector("#view").innerText.includes("No hub runs")`)
	s.StartHub(t)
	b.await(t, "no outage", `!document.querySelector("#view").innerText.includes("No hub runs")`)
}

// seen is the time of the last message in the browser.
const seen = `document.querySelector("#bar time").innerText`

// hidden lets the page believe that its tab is hidden, or not.
const hidden = `Object.defineProperty(document, "hidden", {value: %t, configurable: true})`

// setHidden hides a tab, or shows it.
func setHidden(t *testing.T, b browser, is bool) {
	t.Helper()
	b.evaluate(t, fmt.Sprintf("("+hidden+`, document.dispatchEvent(new Event("visibilitychange")))`, is))
}

// checkQuiet checks that a tab has no stream, until it is shown.
func checkQuiet(t *testing.T, b browser) {
	t.Helper()
	const quiet, soon = 3 * time.Second, 20 * time.Second
	var before string
	fleettest.Within(t, soon, "a hidden tab to be quiet, after what was on its way has arrived", func(context.Context) error {
		before = b.evaluate(t, seen)
		framework.Pause(t, quiet)
		if after := b.evaluate(t, seen); after != before {
			return fmt.Errorf("it showed %s, and %s later", before, after)
		}
		return nil
	})
	setHidden(t, b, false)
	b.await(t, "a live page", fmt.Sprintf("%s !== %q", seen, before))
}

// testBackground opens the page in a tab that is hidden from the start.
func (s *suite) testBackground(t *testing.T) {
	t.Helper()
	b, served := s.opened(t)
	b.onNew(t, fmt.Sprintf(hidden, true))
	b.open(t, at(t, served.url, "regions"))
	if got := b.evaluate(t, "document.hidden"); got != "true" {
		t.Fatalf("the tab is hidden: %s", got)
	}
	checkQuiet(t, b)
}

// testEnd hides the tab, shows it again, and ends the command.
func (s *suite) testEnd(t *testing.T) {
	t.Helper()
	b, served := s.opened(t)
	before := b.evaluate(t, seen)
	b.await(t, "a live page", fmt.Sprintf("%s !== %q", seen, before))
	setHidden(t, b, true)
	checkQuiet(t, b)
	if b.evaluate(t, `document.querySelector("#ended").hidden`) != "true" {
		t.Error("a live page says that it is not")
	}
	if code := served.stop(); code != framework.Stopped {
		t.Errorf("exit code %d, want %d", code, framework.Stopped)
	}
	b.await(t, "the end", `!document.querySelector("#ended").hidden`)
}
