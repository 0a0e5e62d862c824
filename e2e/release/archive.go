package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// archive returns the name of the plugin's archive for a platform.
func (r release) archive(p platform) string {
	suffix := ".tar.gz"
	if p.system == "windows" {
		suffix = ".zip"
	}
	return fmt.Sprintf("%s_%s_%s_%s%s", plugin, r.version, p.system, p.processor, suffix)
}

// writeArchives writes the plugin and the licence for each platform: a zip for Windows, else a tar.
func (r release) writeArchives() error {
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	for _, p := range r.platforms {
		program, err := os.ReadFile(r.program(plugin, p))
		if err != nil {
			return err
		}
		write := r.tar
		if p.system == "windows" {
			write = r.zip
		}
		err = write(filepath.Join(r.output, r.archive(p)), []member{
			{name: filepath.Base(r.program(plugin, p)), content: program, mode: 0o755},
			{name: "LICENSE", content: licence, mode: 0o644},
		})
		if err != nil {
			return fmt.Errorf("writing %s: %w", r.archive(p), err)
		}
	}
	return nil
}

// member is a file in an archive.
type member struct {
	name    string
	content []byte
	mode    int64
}

func (r release) tar(path string, members []member) error {
	return create(path, func(file io.Writer) error {
		compressed := gzip.NewWriter(file)
		archive := tar.NewWriter(compressed)
		for _, m := range members {
			if err := addFile(archive, m.name, m.content, m.mode, r.time); err != nil {
				return err
			}
		}
		if err := archive.Close(); err != nil {
			return err
		}
		return compressed.Close()
	})
}

func (r release) zip(path string, members []member) error {
	return create(path, func(file io.Writer) error {
		archive := zip.NewWriter(file)
		for _, m := range members {
			header := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: r.time}
			header.SetMode(os.FileMode(m.mode))
			w, err := archive.CreateHeader(header)
			if err != nil {
				return err
			}
			if _, err := w.Write(m.content); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

// create writes a file, and says if closing it fails.
func create(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

// writeChecksums writes the SHA-256 of each file of the release, as sha256sum does.
func (r release) writeChecksums() error {
	entries, err := os.ReadDir(r.output)
	if err != nil {
		return err
	}
	var lines []string
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		sum, err := r.sum(entry.Name())
		if err != nil {
			return err
		}
		lines = append(lines, sum+"  "+entry.Name()+"\n")
	}
	slices.Sort(lines)
	return os.WriteFile(filepath.Join(r.output, "checksums.txt"), []byte(strings.Join(lines, "")), 0o644)
}

// sum returns the SHA-256 of a file of the release, in hexadecimal digits.
func (r release) sum(name string) (string, error) {
	content, err := os.ReadFile(filepath.Join(r.output, name))
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:]), nil
}
