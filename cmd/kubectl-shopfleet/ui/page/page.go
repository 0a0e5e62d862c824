package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/view"
)

// Names of the screens, which are their paths.
const (
	needs   = "needs"
	regions = "regions"
	moving  = "moving"
	loss    = "loss"
	why     = "why"
)

//go:embed templates/*.html
var templates embed.FS

// Screen names a screen of the page and its key.
type Screen struct {
	// Name is its path, and Key the key that opens it.
	Name, Key string
	// Title is the name in the navigation, and Question the one that the screen answers.
	Title, Question string
}

// Screens returns all screens, in their order.
func Screens() []Screen {
	return []Screen{
		{needs, "1", "Needs you", "What needs me now, and what do I type?"},
		{regions, "2", "Regions", "Where does each shop run, is it served, and how old is that knowledge?"},
		{moving, "3", "Moving", "What is moving?"},
		{loss, "4", "If a region goes", "What is lost if this region goes in a minute?"},
		{why, "5", "Why", "Why is it not there, or different there?"},
	}
}

// Request selects what is rendered.
type Request struct {
	// Screen is the name of a screen.
	Screen   string
	Query    view.Query
	Snapshot *hubstate.Snapshot
	Now      time.Time
}

// Page renders screens. It is safe for concurrent use.
type Page struct{ templates *template.Template }

// New parses the templates.
func New() (*Page, error) {
	parsed, err := template.New("page").Funcs(template.FuncMap{"link": link, "plus": func(a, b int) int { return a + b }}).
		ParseFS(templates, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("parsing the templates of the page: %w", err)
	}
	return &Page{parsed}, nil
}

// link returns the address of a screen with parameters, which are names and values in turn. It is relative, because only the
// server knows the path of all screens.
func link(screen string, parameters ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(parameters); i += 2 {
		if parameters[i+1] != "" {
			values.Set(parameters[i], parameters[i+1])
		}
	}
	if len(values) == 0 {
		return screen
	}
	return screen + "?" + values.Encode()
}

// QueryOf returns the query in the parameters of an address.
func QueryOf(values url.Values) view.Query {
	number, err := strconv.Atoi(values.Get("page"))
	if err != nil {
		number = 0 // It is the first page.
	}
	return view.Query{Search: values.Get("q"), App: values.Get("app"), Region: values.Get("region"), Page: number}
}

// document is the data of the templates.
type document struct {
	Screens []Screen
	Screen  Screen
	// Live is the relative address of the stream.
	Live string
	// Needs is the number of urgent needs.
	Needs  int
	Hub    hubstate.Hub
	Now    time.Time
	Static bool
	View   any
}

// Document writes a screen as a whole document.
func (p *Page) Document(w io.Writer, r Request) error {
	d, err := documentOf(r)
	if err != nil {
		return err
	}
	return p.execute(w, "document", d)
}

// Parts are the parts of a document that change.
type Parts struct{ Bar, View []byte }

// Parts returns the parts of a screen that change: the bar at the top, which has the time, and the view.
func (p *Page) Parts(r Request) (Parts, error) {
	d, err := documentOf(r)
	if err != nil {
		return Parts{}, err
	}
	var bar, shown bytes.Buffer
	if err := p.execute(&bar, "bar", d); err != nil {
		return Parts{}, err
	}
	if err := p.execute(&shown, "view", d); err != nil {
		return Parts{}, err
	}
	return Parts{bar.Bytes(), shown.Bytes()}, nil
}

func (p *Page) execute(w io.Writer, name string, data any) error {
	if err := p.templates.ExecuteTemplate(w, name, data); err != nil {
		return fmt.Errorf("rendering %s: %w", name, err)
	}
	return nil
}

func documentOf(r Request) (document, error) {
	d := document{
		Screens: Screens(), Hub: r.Snapshot.Hub, Now: r.Now.UTC(),
		Live: link("live/"+r.Screen, "q", r.Query.Search, "app", r.Query.App, "region", r.Query.Region, "page", page(r.Query.Page)),
	}
	for _, screen := range d.Screens {
		if screen.Name == r.Screen {
			d.Screen = screen
		}
	}
	found := view.NeedsOf(r.Snapshot, r.Now)
	d.Needs = len(found.Urgent)
	switch r.Screen {
	case needs:
		d.View = found
	case regions:
		d.View = view.RegionsOf(r.Snapshot, r.Now, r.Query)
	case moving:
		d.View = view.MovingOf(r.Snapshot, r.Now)
	case loss:
		d.View = view.LossOf(r.Snapshot, r.Now, r.Query)
	case why:
		d.View = view.WhyOf(r.Snapshot, r.Now, r.Query)
	default:
		return d, fmt.Errorf("rendering the screen %q: %w", r.Screen, ErrNoScreen)
	}
	return d, nil
}

// page returns the parameter for the number of a page.
func page(number int) string {
	if number == 0 {
		return ""
	}
	return strconv.Itoa(number)
}
