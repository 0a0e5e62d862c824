package aggregate

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestDegraded checks that the condition is that of all copies, whether they are ready or not, and Stalled does not
// say that nothing waits for a user meanwhile.
func TestDegraded(t *testing.T) {
	t.Parallel()
	type change = func(*Cluster)
	updating := func(c *Cluster) {
		reporting(v1.PhaseUpdating)(c)
		c.Copy.Status.Conditions = append(c.Copy.Status.Conditions, metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonUpdating, ObservedGeneration: 1})
	}
	for name, tt := range map[string]struct {
		changes []change
		// generation is that of the application on the hub.
		generation int64
		reason     string
	}{
		"no user can log in":              {[]change{says(v1.ConditionDegraded, v1.ReasonLoginNotConfigured)}, 1, v1.ReasonLoginNotConfigured},
		"an object is missing":            {[]change{says(v1.ConditionDegraded, v1.ReasonMissing)}, 1, v1.ReasonMissing},
		"a component restarts again":      {[]change{updating, says(v1.ConditionDegraded, v1.ReasonCrashLoopBackOff)}, 1, v1.ReasonCrashLoopBackOff},
		"during an update":                {[]change{updating, says(v1.ConditionDegraded, v1.ReasonCrashLoopBackOff)}, 2, v1.ReasonCrashLoopBackOff},
		"one of a generation before":      {[]change{says(v1.ConditionDegraded, v1.ReasonMissing), func(c *Cluster) { c.Copy.Generation++ }}, 1, ""},
		"a cluster that does not respond": {[]change{says(v1.ConditionDegraded, v1.ReasonMissing), lost}, 1, v1.ReasonClusterUnreachable},
		"a copy that is being deleted":    {[]change{says(v1.ConditionDegraded, v1.ReasonMissing), func(c *Cluster) { c.Copy.Deleting = true }}, 1, ""},
		"one that does not say why":       {[]change{says(v1.ConditionDegraded, "")}, 1, v1.ReasonProgressing},
		"one that failed":                 {[]change{reporting(v1.PhaseFailed), says(v1.ConditionDegraded, "SaysTheCopy")}, 1, "SaysTheCopy"},
		"nothing":                         {nil, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := with(after(everywhere(), 1), "a", tt.changes...)
			in.Generation = tt.generation
			for i := range in.Clusters {
				in.Clusters[i] = in.Clusters[i].Bounded()
			}
			status := Compute(in)
			degraded, stalled := meta.FindStatusCondition(status.Conditions, v1.ConditionDegraded), meta.FindStatusCondition(status.Conditions, v1.ConditionStalled)
			if is := degraded.Status == metav1.ConditionTrue; is != (tt.reason != "") || is && degraded.Reason != tt.reason {
				t.Errorf("Degraded is %s, %s: %s", degraded.Status, degraded.Reason, degraded.Message)
			}
			if tt.reason != "" && !strings.HasPrefix(degraded.Message, "a: "+tt.reason) {
				t.Errorf("message %q", degraded.Message)
			}
			if tt.reason != "" && strings.Contains(stalled.Message, "nothing waits for a user") {
				t.Errorf("Stalled is %s: %s", stalled.Status, stalled.Message)
			}
		})
	}
}

// TestNotStalled checks that the message of Stalled names what waits for a user.
func TestNotStalled(t *testing.T) {
	t.Parallel()
	paused, stays := after(everywhere(), 1), after(everywhere(), 1)
	paused.Paused = true
	stays.StayReason, stays.StayMessage = v1.ReasonDataStays, "stays in a (Drained)"
	for name, tt := range map[string]struct {
		in   Input
		says string
	}{
		"paused":        {paused, "spec.paused"},
		"stays":         {stays, "stays in a (Drained)"},
		"approval":      {rolling(v1.RolloutStatus{State: v1.RolloutWaitingForApproval, Message: "waiting for approval of r-b"}), "waiting for approval of r-b"},
		"a paused one":  {rolling(v1.RolloutStatus{State: v1.RolloutPaused, Message: "paused by an annotation"}), "paused by an annotation"},
		"protected":     {protected(after(everywhere(), 1)), v1.DeletionProtectionAnnotation},
		"no cluster":    {Input{Generation: 1, Now: at(0)}, "no cluster is registered"},
		"nothing waits": {after(everywhere(), 1), "nothing waits for a user"},
	} {
		if c := meta.FindStatusCondition(Compute(tt.in).Conditions, v1.ConditionStalled); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, tt.says) {
			t.Errorf("%s: Stalled is %s: %s", name, c.Status, c.Message)
		}
	}
}

// TestOwnMessagesFit checks that the hub's own message about a cluster is not cut, whatever the reason and the name
// are.
func TestOwnMessagesFit(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 63)
	all := []string{waitingFor(math.MaxInt64), lostMessage(Cluster{})}
	for reason := range reasons(t) {
		if v1.ValidReason(reason, "") != reason {
			t.Errorf("%s is no valid reason", reason)
		}
		c := member(name, lost)
		c.Cause, c.Paused = reason, true
		all = append(all, lostMessage(c))
		for _, in := range []Input{input(c), deleting(input(c)), {Deleting: true, SafeMode: true, Clusters: []Cluster{c}}} {
			in.Chosen = []string{name}
			in.Previous.Clusters = []v1.ClusterStatus{{Name: name}}
			for _, connection := range []Connection{Connected, Connecting, Lost} {
				in.Clusters[0].Connection = connection
				in.Unrecorded = nil
				all = append(all, Compute(in).Clusters[0].Message)
				in.Unrecorded = []string{name}
				all = append(all, Compute(in).Clusters[0].Message)
			}
		}
	}
	for _, message := range all {
		if v1.Excerpt(message, maxMessage) != message || strings.HasSuffix(message, "...") {
			t.Errorf("it is cut: %s", message)
		}
	}
}

// reasons returns the reasons in api/v1.
func reasons(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../../api/v1/conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if is && strings.HasPrefix(spec.Names[0].Name, "Reason") {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found[value] = true
		}
		return true
	})
	if len(found) < 100 {
		t.Fatalf("%d reasons", len(found))
	}
	return found
}

// TestDegradedFits checks that the entries of 500 clusters that are all degraded fit into a status.
func TestDegradedFits(t *testing.T) {
	t.Parallel()
	for _, n := range []int{maxDetailed, maxClusters} {
		in := Input{Generation: 1, Now: at(0)}
		for i := range n {
			c := member(fmt.Sprintf("%s%03d", strings.Repeat("x", 60), i), reporting(v1.PhaseRunning), says(v1.ConditionDegraded, v1.ReasonCreateContainerConfigError))
			c.Copy.Status.Conditions[len(c.Copy.Status.Conditions)-1].Message = strings.Repeat("why ", 500)
			in.Clusters, in.Chosen = append(in.Clusters, c), append(in.Chosen, c.Name)
		}
		if encoded, err := json.Marshal(Compute(in)); err != nil || len(encoded) > 256<<10 {
			t.Errorf("the status of %d clusters takes %d bytes, %v", n, len(encoded), err)
		}
	}
}
