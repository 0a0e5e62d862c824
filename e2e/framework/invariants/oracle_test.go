package invariants_test

import (
	"strings"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// The users of the logs.
const (
	hub   = "system:serviceaccount:shopfleet-system:shopfleet-hub"
	spoke = "system:serviceaccount:shopfleet-system:shopfleet-spoke"
	user  = "fleet-admin"
	gc    = "system:serviceaccount:kube-system:generic-garbage-collector"
)

// event returns a successful request, so many seconds after the start: VERB RESOURCE[/SUB] NAMESPACE/NAME.
func event(second int, who, what string) audit.Event {
	parts := strings.Fields(what)
	e := audit.Event{User: who, Verb: parts[0], Code: 200, Received: time.Unix(int64(second), 0)}
	e.Resource, e.Subresource, _ = strings.Cut(parts[1], "/")
	e.Namespace, e.Name, _ = strings.Cut(parts[2], "/")
	if e.Verb == "create" {
		e.Code = 201
	}
	return e
}

func TestUnexpectedDeletes(t *testing.T) {
	const app, edit, gone = "create ecommerceapps shop/web", "patch ecommerceapps shop/web", "delete ecommerceapps shop/web"
	const deployment, claim = "delete deployments shop/web-frontend", "delete persistentvolumeclaims shop/data-web-database-0"
	const snapshot, content = "delete volumesnapshots ", "delete volumesnapshotcontents "
	for name, test := range map[string]struct {
		hub, member audit.Log
		expected    []invariants.Expected
		want        int
	}{
		"no user asked":          {hub: audit.Log{event(0, user, app)}, member: audit.Log{event(1, hub, deployment)}, want: 1},
		"agent":                  {hub: audit.Log{event(0, user, app)}, member: audit.Log{event(1, spoke, deployment)}, want: 1},
		"copy":                   {hub: audit.Log{event(0, user, app)}, member: audit.Log{event(1, hub, gone)}, want: 1},
		"deletion":               {hub: audit.Log{event(0, user, gone)}, member: audit.Log{event(1, hub, deployment), event(1, hub, gone)}},
		"dumps after a deletion": {hub: audit.Log{event(0, user, gone)}, member: audit.Log{event(1, hub, gone), event(2, spoke, "delete persistentvolumeclaims shop/web-database-backup")}, want: 1},
		"login after a deletion": {hub: audit.Log{event(0, user, gone)}, member: audit.Log{event(1, hub, "delete secrets shop/web-database-credentials"), event(1, hub, "delete secrets shop/web-database-system"), event(1, hub, "delete secrets shop/web-database-created")}, want: 3},
		"other Secret":           {hub: audit.Log{event(0, user, gone)}, member: audit.Log{event(1, hub, "delete secrets shop/web-tls")}},
		"dumps by a user":        {member: audit.Log{event(0, user, "delete persistentvolumeclaims shop/web-database-backup"), event(1, hub, "delete persistentvolumeclaims shop/web-database-backup")}},
		"dumps, declared":        {hub: audit.Log{event(0, user, gone)}, member: audit.Log{event(1, hub, "delete persistentvolumeclaims shop/web-database-backup")}, expected: []invariants.Expected{{Resource: "persistentvolumeclaims"}}},
		"claim after a Backup":   {hub: audit.Log{event(0, user, "delete backups shop/nightly")}, member: audit.Log{event(1, hub, "delete persistentvolumeclaims shop/nightly-load")}},
		"deletion by the hub":    {hub: audit.Log{event(0, hub, gone)}, want: 1},
		"edit":                   {hub: audit.Log{event(0, user, edit)}, member: audit.Log{event(1, hub, deployment)}},
		"copy after an edit":     {hub: audit.Log{event(0, user, edit)}, member: audit.Log{event(1, hub, gone)}, want: 1},
		"data after an edit":     {hub: audit.Log{event(0, user, edit)}, member: audit.Log{event(1, hub, "delete statefulsets shop/web-database")}, want: 1},
		"expected copy":          {hub: audit.Log{event(0, user, app)}, member: audit.Log{event(1, hub, gone), event(2, spoke, deployment)}, expected: []invariants.Expected{{Resource: "ecommerceapps"}}},
		"of a longer name":       {hub: audit.Log{event(0, user, app), event(0, user, "create ecommerceapps shop/web-2"), event(1, user, gone)}, member: audit.Log{event(2, hub, "delete deployments shop/web-2-frontend")}, want: 1},
		"record":                 {member: audit.Log{event(1, hub, "delete configmaps shopfleet-system/shopfleet-hub")}, want: 1},
		"edit in the member":     {member: audit.Log{event(0, user, edit), event(1, hub, deployment)}},
		"edit in another":        {member: audit.Log{event(0, user, edit)}, hub: audit.Log{event(1, hub, deployment)}, want: 1},
		"edit that follows":      {hub: audit.Log{event(2, user, edit)}, member: audit.Log{event(1, hub, deployment)}, want: 1},
		"edit long ago":          {hub: audit.Log{event(0, user, edit)}, member: audit.Log{event(1000, hub, deployment)}, want: 1},
		"edit of the status":     {hub: audit.Log{event(0, user, "patch ecommerceapps/status shop/web")}, member: audit.Log{event(1, hub, deployment)}, want: 1},
		"edit by the hub":        {hub: audit.Log{event(0, hub, edit)}, member: audit.Log{event(1, hub, deployment)}, want: 1},
		"edit of another":        {hub: audit.Log{event(0, user, "patch ecommerceapps shop/we")}, member: audit.Log{event(1, hub, deployment)}, want: 1},
		"edit in another place":  {hub: audit.Log{event(0, user, "patch ecommerceapps shops/web")}, member: audit.Log{event(1, hub, deployment)}, want: 1},
		"claim after an edit":    {hub: audit.Log{event(0, user, edit)}, member: audit.Log{event(1, hub, claim)}, want: 1},
		"claim before a Restore": {hub: audit.Log{event(2, user, "create restores shop/again")}, member: audit.Log{event(1, hub, claim)}, want: 1},
		"claim after a Restore":  {hub: audit.Log{event(0, user, "create restores shop/again")}, member: audit.Log{event(1, hub, claim)}},
		"import without a user":  {member: audit.Log{event(1, hub, snapshot+"shop/web-import-1"), event(1, hub, content+"/web-import-1")}, want: 2},
		"import by a Restore":    {hub: audit.Log{event(0, user, "create restores shop/again")}, member: audit.Log{event(1, hub, snapshot+"shop/web-import-1"), event(1, hub, content+"/web-import-1")}},
		"snapshots of others":    {hub: audit.Log{event(0, user, "create restores shop/again")}, member: audit.Log{event(1, hub, snapshot+"shop/web"), event(1, hub, snapshot+"other/web-import-1"), event(1, hub, content+"/web")}, want: 3},
		"created again":          {hub: audit.Log{event(0, user, gone), event(1, user, app)}, member: audit.Log{event(2, hub, deployment)}, want: 1},
		"namespace":              {member: audit.Log{event(0, user, "delete namespaces shop/shop"), event(1, hub, claim)}},
		"deletion by Kubernetes": {member: audit.Log{event(1, gc, deployment)}},
		"of no value":            {member: audit.Log{event(1, hub, "delete configmaps shop/web")}},
		"refused":                {member: audit.Log{{User: hub, Verb: "delete", Resource: "deployments", Code: 403}}},
		"collection":             {member: audit.Log{event(1, hub, "deletecollection secrets shop/")}, want: 1},
		"definition":             {member: audit.Log{event(1, hub, "delete customresourcedefinitions /ecommerceapps.ecommerce.io")}, want: 1},
		"expected":               {member: audit.Log{event(1, hub, deployment)}, expected: []invariants.Expected{{Resource: "deployments", Name: "web-*"}}},
		"expected elsewhere":     {member: audit.Log{event(1, hub, deployment)}, expected: []invariants.Expected{{Namespace: "other"}}, want: 1},
		"backup without a user":  {hub: audit.Log{event(0, user, edit), event(1, hub, "delete backups other/b")}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := invariants.UnexpectedDeletes(invariants.Logs{"hub": test.hub, "eu-1": test.member}, "hub", test.expected...); len(got) != test.want {
				t.Errorf("got %q, want %d", got, test.want)
			}
		})
	}
}

func TestDuplicates(t *testing.T) {
	const job, end = "create jobs shop/dump", "delete jobs shop/dump"
	for name, test := range map[string]struct {
		log  audit.Log
		want int
	}{
		"once":       {audit.Log{event(0, hub, job)}, 0},
		"twice":      {audit.Log{event(0, hub, job), event(1, hub, job)}, 1},
		"by two":     {audit.Log{event(0, user, job), event(1, spoke, job)}, 1},
		"again":      {audit.Log{event(0, hub, job), event(1, gc, end), event(2, hub, job)}, 0},
		"collection": {audit.Log{event(0, hub, job), event(1, user, "deletecollection jobs shop/"), event(2, hub, job)}, 0},
		"namespace":  {audit.Log{event(0, user, "create namespaces /shop"), event(1, user, "delete namespaces shop/shop"), event(2, hub, "create namespaces /shop")}, 0},
		"definition": {audit.Log{event(0, hub, job), event(1, user, "delete customresourcedefinitions /jobs."), event(2, hub, job)}, 0},
		"definition again": {audit.Log{
			event(0, hub, "create customresourcedefinitions /jobs."), event(1, user, "delete customresourcedefinitions /jobs."), event(2, hub, "create customresourcedefinitions /jobs."),
		}, 0},
		"of a user":     {audit.Log{event(0, hub, job), event(1, user, job)}, 0},
		"another place": {audit.Log{event(0, hub, job), event(1, hub, "create jobs other/dump")}, 0},
	} {
		if got := invariants.Duplicates(invariants.Logs{"eu-1": test.log}); len(got) != test.want {
			t.Errorf("%s: got %q, want %d", name, got, test.want)
		}
	}
}

func TestHotLoops(t *testing.T) {
	failures := func(n, code int, between time.Duration) audit.Log {
		var log audit.Log
		for i := range n {
			e := event(0, hub, "patch services shop/web")
			e.Code, e.Received = code, e.Received.Add(time.Duration(i)*between)
			log = append(log, e)
		}
		return log
	}
	closed := failures(500, 403, time.Millisecond)
	for i := range closed {
		closed[i].Namespace, closed[i].URI = "kube-system", "/api/v1/namespaces/kube-system/services?dryRun=All"
	}
	for name, test := range map[string]struct {
		log  audit.Log
		want int
	}{
		"some":      {failures(30, 403, time.Millisecond), 0},
		"too many":  {failures(500, 403, time.Millisecond), 1},
		"slowly":    {failures(500, 403, time.Second), 0},
		"success":   {failures(500, 200, time.Millisecond), 0},
		"not found": {failures(500, 404, time.Millisecond), 0},
		"closed":    {closed, 0},
	} {
		if got := invariants.HotLoops(invariants.Logs{"eu-1": test.log}); len(got) != test.want {
			t.Errorf("%s: got %d, want %d", name, len(got), test.want)
		}
	}
}
