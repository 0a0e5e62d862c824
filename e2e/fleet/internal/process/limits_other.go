//go:build !linux

package process

// RaiseLimits has nothing to do: only Linux limits inotify.
func RaiseLimits() {}
