//go:build !linux

package process

// RaiseLimits does nothing: only Linux limits inotify.
func RaiseLimits() {}
