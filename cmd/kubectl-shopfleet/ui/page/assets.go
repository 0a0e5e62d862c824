package page

import (
	"embed"
	"errors"
	"io/fs"
)

// ErrNoScreen means that the page has no screen of a name.
var ErrNoScreen = errors.New("there is no such screen")

//go:embed assets/*.css assets/*.js assets/*.svg
var assets embed.FS

// Assets returns the files that documents refer to.
func Assets() fs.FS { return assets }
