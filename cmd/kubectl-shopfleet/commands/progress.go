package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
)

const (
	// quiet is the time after which a line names a step that is not done.
	quiet = 2 * time.Second
	// reminder is the time between further lines.
	reminder = 10 * time.Second
)

// say writes a line to the standard error.
func (p *Program) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.streams.ErrOut, format+"\n", args...)
}

// retrying reports an error of a watch, which is retried.
func (p *Program) retrying(err error) {
	if err != nil {
		p.say("  retrying: %v", err)
	}
}

// during runs a step, and names it when it takes long.
func (p *Program) during(what string, step func() error) error {
	done := make(chan struct{})
	said := make(chan struct{})
	begin := p.clock.Now()
	timer := p.clock.NewTimer(quiet)
	go func() {
		defer close(said)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C():
				p.say("%s ... (%s)", what, p.clock.Since(begin).Round(time.Second))
				timer.Reset(reminder)
			}
		}
	}()
	err := step()
	close(done)
	<-said
	return err
}

// progress is the state of an object that is waited for.
type progress struct {
	text         string
	done, failed bool
	// message explains the state; it may be empty.
	message string
}

// phase returns the progress of an object with a phase.
func phase(name, message, completed, failed string) progress {
	text := name
	if message != "" {
		text += ": " + message
	}
	return progress{text: text, done: name == completed || name == failed, failed: name == failed, message: message}
}

// awaiting is a wait for objects until all are done.
type awaiting struct {
	// resource is the name for kubectl get, and list an empty list of it.
	resource  string
	list      client.ObjectList
	namespace string
	names     []string
	progress  func(client.Object) progress
	wait      waitFlags
}

// await reports each change of progress until all objects are done. The error names
// those that failed or are not done in time.
func (p *Program) await(ctx context.Context, hub *cluster, a awaiting) error {
	ctx, cancel := a.wait.limit(ctx, errTimeout)
	defer cancel()
	query, err := hub.query(p.retrying)
	if err != nil {
		return err
	}
	query.List, query.Options = a.list, []client.ListOption{client.InNamespace(a.namespace)}
	last := map[string]progress{}
	err = p.during("waiting for "+a.resource+" "+strings.Join(a.names, ", "), func() error {
		return query.Run(ctx, func(objects []client.Object) (bool, error) {
			for _, line := range a.update(last, objects) {
				p.say("%s", line)
			}
			return a.result(last)
		})
	})
	if errors.Is(err, errTimeout) {
		open := a.only(func(name string) bool { return !last[name].done })
		return a.hinted(open, fmt.Errorf("%w after %s%s", errTimeout, a.wait.timeout, explained(last, open)))
	}
	return err
}

// update enters the progress of the objects, and returns a line for each change.
func (a awaiting) update(last map[string]progress, objects []client.Object) []string {
	var lines []string
	for _, o := range objects {
		name := o.GetName()
		if !slices.Contains(a.names, name) {
			continue
		}
		now := a.progress(o)
		if now.text != last[name].text {
			lines = append(lines, name+": "+now.text)
		}
		last[name] = now
	}
	return lines
}

// result reports whether all objects are done, and returns an error if one has failed.
func (a awaiting) result(last map[string]progress) (bool, error) {
	if len(a.only(func(name string) bool { return !last[name].done })) > 0 {
		return false, nil
	}
	if failed := a.only(func(name string) bool { return last[name].failed }); len(failed) > 0 {
		return false, a.hinted(failed, fmt.Errorf("%w%s", errFailed, explained(last, failed)))
	}
	return true, nil
}

// explained returns the last messages of objects, to be appended to an error about them.
func explained(last map[string]progress, names []string) string {
	var text strings.Builder
	separator := ": "
	for _, name := range names {
		if message := last[name].message; message != "" {
			text.WriteString(separator + message)
			separator = "; "
		}
	}
	return text.String()
}

// only returns the names with a property.
func (a awaiting) only(has func(name string) bool) []string {
	return slices.DeleteFunc(slices.Clone(a.names), func(name string) bool { return !has(name) })
}

// hinted returns an error about the named objects that says which command shows them.
func (a awaiting) hinted(names []string, err error) error {
	command := "kubectl describe " + a.resource + " " + strings.Join(names, " ")
	if a.namespace != "" {
		command += " -n " + a.namespace
	}
	return hint.With(fmt.Errorf("%s %s: %w", a.resource, strings.Join(names, ", "), err), "See why: "+command)
}
