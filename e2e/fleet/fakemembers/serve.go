package fakemembers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// Announcement is the first line that Serve writes, as JSON.
type Announcement struct {
	// Control is the address that the process is told by what members do.
	Control string `json:"control"`
	// Kubeconfigs holds the kubeconfigs of the members, by name.
	Kubeconfigs map[string][]byte `json:"kubeconfigs"`
}

// Serve runs members of these names until in ends, and announces them on out.
func Serve(ctx context.Context, names []string, in io.Reader, out io.Writer) error {
	members, announced := map[string]*Member{}, Announcement{Kubeconfigs: map[string][]byte{}}
	for _, name := range names {
		m, err := New(ctx, name)
		if err != nil {
			return err
		}
		if announced.Kubeconfigs[name], err = m.Kubeconfig(); err != nil {
			return err
		}
		members[name] = m
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	announced.Control = listener.Addr().String()
	control := &http.Server{Handler: controlOf(members), ReadHeaderTimeout: headerTimeout}
	served := make(chan error, 1)
	go func() { served <- control.Serve(listener) }()
	if err := json.NewEncoder(out).Encode(announced); err != nil {
		return fmt.Errorf("announcing the members: %w", err)
	}
	// The other end of in is closed by the process that started this one, also when it is killed.
	if _, err = io.Copy(io.Discard, in); err != nil {
		return fmt.Errorf("waiting for the end: %w", err)
	}
	ended := []error{control.Close()}
	for _, m := range members {
		ended = append(ended, m.Close())
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		ended = append(ended, err)
	}
	return errors.Join(ended...)
}

// controlOf returns a handler that opens and closes members, and returns what they were asked for.
func controlOf(members map[string]*Member) http.Handler {
	mux := http.NewServeMux()
	var mu sync.Mutex
	handle := func(pattern string, do func(ctx context.Context, m *Member) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			m := members[r.PathValue("name")]
			if m == nil {
				http.NotFound(w, r)
				return
			}
			if err := do(context.WithoutCancel(r.Context()), m); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	handle("POST /close/{name}", func(_ context.Context, m *Member) error { return m.Close() })
	handle("POST /open/{name}", func(ctx context.Context, m *Member) error { return m.Open(ctx) })
	mux.HandleFunc("GET /requests", func(w http.ResponseWriter, _ *http.Request) {
		all := map[string]map[string]int{}
		for name, m := range members {
			all[name] = m.Requests()
		}
		// An error is about the connection, which the client notices.
		_ = json.NewEncoder(w).Encode(all)
	})
	return mux
}
