package server

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"html"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/page"
)

const (
	// policy lets a document use what this server serves, and nothing else.
	policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	// cookiePrefix is followed by the port.
	cookiePrefix = "shopfleet-ui-"
	tokenName    = "token"
	// defaultPort is the one that browsers leave out.
	defaultPort = "80"
	// unknown answers who does not have the printed address, or the cookie.
	unknown = "Open the address that kubectl shopfleet ui printed. It is good once: for another browser, start the command again."
)

// Source has the latest Snapshot.
type Source interface {
	Snapshot() *hubstate.Snapshot
}

// Options describe a Server.
type Options struct {
	Source Source
	Clock  clock.WithTicker
	// Address is the one at which it listens: a loopback address and a port.
	Address *net.TCPAddr
}

// Server is a handler of HTTP requests. It is safe for concurrent use.
type Server struct {
	options Options
	page    *page.Page
	mux     *http.ServeMux
	hosts   []string
	// base is the path of everything, which is part of the printed address and of nothing else.
	base string
	// session is the value of the cookie.
	session string

	mu sync.Mutex
	// token is the one of the printed address, and empty after it was used.
	token string
}

// New returns a Server, and the address to print.
func New(o Options) (*Server, string, error) {
	rendered, err := page.New()
	if err != nil {
		return nil, "", fmt.Errorf("creating the page: %w", err)
	}
	port := fmt.Sprint(o.Address.Port)
	s := &Server{
		options: o, page: rendered, mux: http.NewServeMux(),
		hosts: []string{net.JoinHostPort(o.Address.IP.String(), port), net.JoinHostPort("localhost", port)},
		base:  "/" + rand.Text() + "/", session: rand.Text(), token: rand.Text(),
	}
	if port == defaultPort {
		s.hosts = append(s.hosts, o.Address.IP.String(), "localhost")
	}
	for _, screen := range page.Screens() {
		s.mux.HandleFunc("/"+screen.Name, func(w http.ResponseWriter, r *http.Request) { s.document(w, r, screen.Name) })
		s.mux.HandleFunc("/live/"+screen.Name, func(w http.ResponseWriter, r *http.Request) { s.stream(w, r, screen.Name) })
	}
	first := page.Screens()[0].Name
	s.mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { s.document(w, r, first) })
	s.mux.Handle("/assets/", cached(http.FileServerFS(page.Assets())))
	return s, fmt.Sprintf("http://%s%s?%s=%s", s.hosts[0], s.base, tokenName, s.token), nil
}

// cached lets the browser keep what does not change while the server runs.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") { // A list of the files is of no use.
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "private, max-age=3600")
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch {
	case !s.isOurs(r.Host):
		forbid(w, "This address is not served here.")
	case r.Method != http.MethodGet:
		forbid(w, "This page can only be read.")
	case !strings.HasPrefix(r.URL.Path, s.base):
		forbid(w, unknown)
	case r.URL.Query().Has(tokenName):
		s.admit(w, r.URL.Query().Get(tokenName))
	case !s.isAdmitted(r):
		forbid(w, unknown)
	default:
		http.StripPrefix(strings.TrimSuffix(s.base, "/"), s.mux).ServeHTTP(w, r)
	}
}

func forbid(w http.ResponseWriter, text string) { http.Error(w, text, http.StatusForbidden) }

// isOurs reports whether a request was sent to an address of this server. A page of another server whose name was made to
// lead here has that name.
func (s *Server) isOurs(host string) bool { return slices.Contains(s.hosts, host) }

// isAdmitted reports whether a request has the cookie.
func (s *Server) isAdmitted(r *http.Request) bool {
	for _, cookie := range r.CookiesNamed(s.cookieName()) {
		if subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(s.session)) == 1 {
			return true
		}
	}
	return false
}

func (s *Server) cookieName() string { return cookiePrefix + fmt.Sprint(s.options.Address.Port) }

// admit gives the cookie to the first browser that has the token.
func (s *Server) admit(w http.ResponseWriter, token string) {
	s.mu.Lock()
	good := s.token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
	if good {
		s.token = ""
	}
	s.mu.Unlock()
	if !good {
		forbid(w, "The token of this address is not valid, or was used before. Start kubectl shopfleet ui again for another one.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(), Value: s.session, Path: s.base, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Shopfleet</title><meta http-equiv="refresh" content="0; url=%[1]s"><a href="%[1]s">Continue</a></html>`,
		html.EscapeString(s.base))
}

func (s *Server) request(r *http.Request, screen string) page.Request {
	return page.Request{Screen: screen, Query: page.QueryOf(r.URL.Query()), Snapshot: s.options.Source.Snapshot(), Now: s.options.Clock.Now()}
}

// document answers with a screen.
func (s *Server) document(w http.ResponseWriter, r *http.Request, screen string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := s.page.Document(w, s.request(r, screen)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// NewHTTP returns what serves a Server: streams have no deadline, and the reading of requests has.
func NewHTTP(s *Server) *http.Server {
	return &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
}
