package bench_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// clockTicks is the unit of processor times in /proc, in Hertz. It is the same on all of Linux.
	clockTicks = 100
	// profileVariable is the environment variable with the folder for profiles of the burst, and
	// profileTime the time that the profile of the processor is taken for.
	profileVariable = "SHOPFLEET_BENCH_PROFILES"
	profileTime     = 60 * time.Second
	// hubLog is the file in the folder of logs.
	hubLog = "hub.log"
)

// process is a hub that runs as the binary of cmd/hub. Its memory and processor time are its own.
type process struct {
	cmd     *exec.Cmd
	debug   string
	started time.Time
	// stop ends the process, and blocks until it has ended.
	stop func()
}

// startHub starts a hub with the default options, without waiting for it.
func (f *fixture) startHub(b *testing.B) {
	b.Helper()
	p := &process{debug: framework.FreeAddress(b)}
	// It outlives the benchmark that starts it.
	p.cmd = exec.CommandContext(context.WithoutCancel(b.Context()), f.binary, "--metrics-bind-address", p.debug,
		"--metrics-secure=false", "--profiling", "--health-probe-bind-address", "0",
		"--kubeconfig", f.KubeconfigFile(b, f.Fleet.Hub(), config.HubServiceAccount))
	log, err := os.OpenFile(filepath.Join(f.logs, hubLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	p.stop = sync.OnceFunc(func() {
		// An error means that it has ended already, which Wait returns.
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			f.b.Errorf("the hub ended with an error: %v", err)
		}
		_ = log.Close()
	})
	f.process = p
}

// cpu returns the processor time that the process has used.
func (p *process) cpu(b *testing.B) time.Duration {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	// The second field is the name in parentheses. The 14th and 15th are the times.
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	var ticks int
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatalf("reading the processor time: %v", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / clockTicks
}

// memory holds sizes in MiB, and the numbers of goroutines and of kinds that caches watch, those of each
// cluster by themselves.
type memory struct {
	live, rss         float64
	goroutines, kinds int
}

// memory collects garbage in the process and returns what is left. It does so twice: a sync.Pool, of
// which the metrics that were just read have a large one, keeps its content for one collection.
func (p *process) memory(b *testing.B) memory {
	b.Helper()
	p.get(b, "/debug/pprof/heap?gc=1&debug=1")
	heap := p.get(b, "/debug/pprof/heap?gc=1&debug=1")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	goroutines := p.get(b, "/debug/pprof/goroutine?debug=1")
	return memory{
		live:       float64(find(b, heap, `# HeapAlloc = (\d+)`)) / (1 << 20),
		rss:        float64(find(b, string(status), `VmRSS:\s+(\d+) kB`)) / (1 << 10),
		goroutines: find(b, goroutines, `goroutine profile: total (\d+)`),
		kinds:      watchedKinds(b, goroutines),
	}
}

// watchedKinds returns the number of reflectors in a profile of goroutines: each watches one kind of one
// cluster.
func watchedKinds(b *testing.B, profile string) (n int) {
	b.Helper()
	for stack := range strings.SplitSeq(profile, "\n\n") {
		if strings.Contains(stack, "cache.(*Reflector).RunWithContext+") {
			n += find(b, stack, `(?m)^(\d+) @ `)
		}
	}
	return n
}

// gogc returns the percentage by which the heap grows until garbage is collected.
func (p *process) gogc(b *testing.B) int {
	b.Helper()
	return find(b, p.get(b, "/metrics"), `(?m)^go_gc_gogc_percent (\d+)$`)
}

// passes returns the number of reconciliations so far, by controller.
func (p *process) passes(b *testing.B) map[string]int {
	b.Helper()
	all := map[string]int{}
	for _, found := range regexp.MustCompile(`controller_runtime_reconcile_total\{controller="([^"/]*)[^}]*\} (\d+)`).FindAllStringSubmatch(p.get(b, "/metrics"), -1) {
		n, err := strconv.Atoi(found[2])
		if err != nil {
			b.Fatal(err)
		}
		all[found[1]] += n
	}
	return all
}

// find returns the number that a pattern has in parentheses.
func find(b *testing.B, text, pattern string) int {
	b.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		b.Fatalf("%s is not in %.200q", pattern, text)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// get returns a page of the debugging endpoints.
func (p *process) get(b *testing.B, path string) string {
	b.Helper()
	return p.call(b, http.MethodGet, path, http.NoBody)
}

// setVerbosity changes how much the process logs.
func (p *process) setVerbosity(b *testing.B, n int) {
	b.Helper()
	p.call(b, http.MethodPut, "/debug/log-level", strings.NewReader(strconv.Itoa(n)))
}

// call returns the response of the debugging endpoints.
func (p *process) call(b *testing.B, method, path string, body io.Reader) string {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), method, "http://"+p.debug+path, body)
	if err != nil {
		b.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		b.Fatalf("%s answers %d: %v", path, response.StatusCode, err)
	}
	return string(raw)
}

// profile takes a profile of the heap, one of the processor in the background, and when done is called
// another one of the heap, if profileVariable is set.
func (p *process) profile(b *testing.B) (done func()) {
	b.Helper()
	folder := os.Getenv(profileVariable)
	if folder == "" {
		return func() {}
	}
	save := func(name, path string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(p.get(b, path)), 0o600); err != nil {
			b.Error(err)
		}
	}
	save("before.pprof", "/debug/pprof/heap?gc=1")
	var group sync.WaitGroup
	group.Go(func() { save("cpu.pprof", fmt.Sprintf("/debug/pprof/profile?seconds=%d", int(profileTime.Seconds()))) })
	return func() {
		group.Wait()
		save("heap.pprof", "/debug/pprof/heap?gc=1")
	}
}
