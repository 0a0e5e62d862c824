package report

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"time"

	"sigs.k8s.io/yaml"
)

// MaxFile is the maximum size of a file in an archive, in bytes.
const MaxFile = 4 << 20

// indexFile is the name of the index, which is the last file of an archive.
const indexFile = "index.yaml"

// File represents a file of an archive.
type File struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	// Truncated is set if the file does not have everything.
	Truncated bool `json:"truncated"`
}

// Omission represents something that could not be read.
type Omission struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// Index lists what an archive has, and what it does not have.
type Index struct {
	Created time.Time  `json:"created"`
	Files   []File     `json:"files"`
	Omitted []Omission `json:"omitted"`
}

// Archive writes files without credentials. It is not safe for concurrent use.
type Archive struct {
	*Redactor
	index  Index
	folder string
	gzip   *gzip.Writer
	tar    *tar.Writer
}

// NewArchive returns an archive whose files are in a folder. The caller must close it.
func NewArchive(to io.Writer, folder string, created time.Time) *Archive {
	compressed := gzip.NewWriter(to)
	return &Archive{
		Redactor: NewRedactor(), index: Index{Created: created.UTC(), Files: []File{}, Omitted: []Omission{}},
		folder: folder, gzip: compressed, tar: tar.NewWriter(compressed),
	}
}

// AddObjects adds objects as one file of YAML documents. They are changed.
func (a *Archive) AddObjects(name string, objects []map[string]any) error {
	var content []byte
	truncated := false
	for _, object := range objects {
		a.Object(object)
		document, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", name, err)
		}
		if len(content)+len(document) > MaxFile {
			truncated = true
			break
		}
		content = append(append(content, "---\n"...), document...)
	}
	return a.write(name, content, truncated)
}

// AddText adds a text. It keeps the end of one that is too long.
func (a *Archive) AddText(name, text string) error {
	// A block that begins before the cut would not be recognized after it.
	text = a.Text(text)
	truncated := len(text) > MaxFile
	if truncated {
		text = text[len(text)-MaxFile:]
	}
	return a.write(name, []byte(text), truncated)
}

// Omit notes in the index what could not be read.
func (a *Archive) Omit(what string, reason error) {
	a.index.Omitted = append(a.index.Omitted, Omission{What: what, Reason: a.Text(reason.Error())})
}

func (a *Archive) write(name string, content []byte, truncated bool) error {
	header := &tar.Header{Name: path.Join(a.folder, name), Mode: 0o600, Size: int64(len(content)), ModTime: a.index.Created}
	if err := a.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if _, err := a.tar.Write(content); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	a.index.Files = append(a.index.Files, File{Path: name, Bytes: header.Size, Truncated: truncated})
	return nil
}

// Close writes the index, and returns it.
func (a *Archive) Close() (Index, error) {
	index := a.index
	content, err := yaml.Marshal(index)
	if err == nil {
		err = a.write(indexFile, content, false)
	}
	if err == nil {
		err = a.tar.Close()
	}
	if err == nil {
		err = a.gzip.Close()
	}
	if err != nil {
		return index, fmt.Errorf("completing the archive: %w", err)
	}
	return index, nil
}
