package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// kept are the bits of a mode that are copied.
const kept = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// copying copies a tree from one folder to another.
type copying struct {
	from, to *os.Root
	// owners are copied where the process may give files away.
	owners bool
}

// copyTree copies what is in one folder below the root into another that is empty, down
// to the disk.
func copyTree(ctx context.Context, root *os.Root, from, to string) (err error) {
	c := copying{owners: os.Geteuid() == 0}
	if c.from, err = root.OpenRoot(from); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.from.Close()) }()
	if c.to, err = root.OpenRoot(to); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.to.Close()) }()
	err = c.dir(ctx, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s changed while it was copied: %w", from, err)
	}
	return err
}

// dir copies what is in a folder, then what the folder is like, which may forbid
// writing to it.
func (c copying) dir(ctx context.Context, name string) error {
	entries, err := fs.ReadDir(c.from.FS(), name)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := c.entry(ctx, path.Join(name, entry.Name()), entry.Type()); err != nil {
			return err
		}
	}
	return errors.Join(syncDir(c.to, name), c.finish(name))
}

func (c copying) entry(ctx context.Context, name string, kind fs.FileMode) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch kind {
	case fs.ModeDir:
		if err := c.to.Mkdir(name, 0o700); err != nil {
			return err
		}
		return c.dir(ctx, name)
	case fs.ModeSymlink:
		target, err := c.from.Readlink(name)
		if err != nil {
			return err
		}
		return errors.Join(c.to.Symlink(target, name), c.own(name))
	case 0:
		return errors.Join(c.file(ctx, name), c.finish(name))
	default:
		return nil // A socket, a pipe or a device.
	}
}

func (c copying) file(ctx context.Context, name string) error {
	in, err := c.from.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := c.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, until(ctx, in))
	return errors.Join(err, out.Sync(), out.Close())
}

// finish gives a file or folder its owner, mode and time. A new owner takes bits of the
// mode away, so that it comes first.
func (c copying) finish(name string) error {
	info, err := c.from.Lstat(name)
	if err != nil {
		return err
	}
	if err := c.own(name); err != nil {
		return err
	}
	return errors.Join(c.to.Chmod(name, info.Mode()&kept), c.to.Chtimes(name, info.ModTime(), info.ModTime()))
}

func (c copying) own(name string) error {
	info, err := c.from.Lstat(name)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !c.owners {
		return nil
	}
	return c.to.Lchown(name, int(stat.Uid), int(stat.Gid))
}

// reader is a function that reads.
type reader func(p []byte) (int, error)

// Read implements io.Reader.
func (r reader) Read(p []byte) (int, error) { return r(p) }

// until reads until a context ends.
func until(ctx context.Context, from io.Reader) io.Reader {
	return reader(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return from.Read(p)
	})
}

// removeAll removes a tree, of which folders may forbid it.
func removeAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// A folder is opened up before what is in it is read.
	walked := fs.WalkDir(root.FS(), name, func(at string, entry fs.DirEntry, _ error) error {
		if entry == nil || !entry.IsDir() {
			return nil
		}
		return root.Chmod(at, 0o700)
	})
	return errors.Join(walked, root.RemoveAll(name))
}

// sizeOf adds up the files of a folder.
func sizeOf(root *os.Root, name string) (int64, error) {
	var total int64
	err := fs.WalkDir(root.FS(), name, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
