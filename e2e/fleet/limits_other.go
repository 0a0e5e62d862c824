//go:build !linux

package fleet

// raiseLimits has nothing to do: only Linux limits inotify.
func raiseLimits() {}
