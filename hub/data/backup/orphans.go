package backup

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
)

const (
	// maxOrphans bounds the orphans that a status names, and maxOrphanText the length of their names.
	maxOrphans    = 20
	maxOrphanText = 512
	// unlistedBucket names the bucket among what could not be listed.
	unlistedBucket = "bucket"
)

// orphan is a snapshot or a dump that no Backup names.
type orphan struct {
	// region is empty for a dump, whose prefix is the ID.
	region, id string
	bytes      int64
	// tags are those of a snapshot.
	tags cloud.Tags
}

func (o orphan) isDump() bool { return o.region == "" }

// orphans collects what the lists of an account have and no Backup names. It reads Backups one by one, by the tags
// of a snapshot: there may be too many for a list.
type orphans struct {
	client client.Reader
	// dumps are the prefixes of the dumps of Backups in the account.
	dumps    map[string]bool
	found    []orphan
	unlisted []string
}

// newOrphans returns the collection for an account with some Backups.
func newOrphans(reader client.Reader, backups []v1.Backup) *orphans {
	o := &orphans{client: reader, dumps: map[string]bool{}}
	o.named(backups)
	return o
}

// named notes that Backups name their dumps.
func (o *orphans) named(backups []v1.Backup) {
	for i := range backups {
		if d := backups[i].Status.Dump; d != nil && d.Object != nil {
			o.dumps[d.Object.Prefix] = true
		}
	}
}

// snapshot notes a snapshot of the hub that is in a list, unless its Backup names it.
func (o *orphans) snapshot(ctx context.Context, s cloud.Snapshot) error {
	if s.State == cloud.StateDeleting {
		return nil
	}
	one := orphan{region: s.Ref.Region, id: s.Ref.ID, bytes: s.SizeBytes, tags: s.Tags}
	owned, err := o.isOwned(ctx, one)
	if err == nil && !owned {
		o.found = append(o.found, one)
	}
	return err
}

// isOwned reports whether the Backup that a snapshot was made for exists and names it, or will.
func (o *orphans) isOwned(ctx context.Context, one orphan) (bool, error) {
	b := &v1.Backup{} // Only read.
	key := client.ObjectKey{Namespace: one.tags[cloud.TagNamespace], Name: one.tags[cloud.TagBackup]}
	if key.Namespace == "" || key.Name == "" {
		return false, nil
	}
	switch err := o.client.Get(ctx, key, b, client.UnsafeDisableDeepCopy); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("getting backup %q: %w", key, err)
	default:
		return names(b, one), nil
	}
}

// names reports whether a Backup names a snapshot, or will. Of several attempts, or of requests whose responses were
// lost, its deletion finds what is left.
func names(b *v1.Backup, one orphan) bool {
	if b.Status.AppUID != one.tags[cloud.TagApp] {
		return false
	}
	if !Done(b) || !b.DeletionTimestamp.IsZero() {
		return true
	}
	for i := range b.Status.Snapshots {
		s := &b.Status.Snapshots[i]
		if s.Claim != one.tags[cloud.TagClaim] {
			continue
		}
		is := func(c v1.CloudSnapshot) bool { return c.ID == one.id || c.Attempt > 0 || c.Requests > 1 }
		if is(s.CloudSnapshot) || slices.ContainsFunc(s.Copies, is) {
			return true
		}
	}
	return false
}

// object notes an object of the hub that is in the list of a bucket. The objects of a dump follow each other.
func (o *orphans) object(listed cloud.Object) {
	prefix := path.Dir(listed.Key)
	switch last := len(o.found) - 1; {
	case o.dumps[prefix], dumps.Claimant(dumps.HubOf(prefix), listed.Key) != "":
	case last >= 0 && o.found[last].isDump() && o.found[last].id == prefix:
		o.found[last].bytes += listed.Bytes
	default:
		o.found = append(o.found, orphan{id: prefix, bytes: listed.Bytes})
	}
}

// settle drops what Backups name that were made while the account was listed, or in another account with the same bucket.
func (o *orphans) settle(ctx context.Context) error {
	if slices.ContainsFunc(o.found, orphan.isDump) {
		list := &v1.BackupList{}
		if err := o.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing backups: %w", err)
		}
		o.named(list.Items)
	}
	left := o.found[:0]
	for _, one := range o.found {
		owned := o.dumps[one.id]
		if !one.isDump() {
			var err error
			if owned, err = o.isOwned(ctx, one); err != nil {
				return err
			}
		}
		if !owned {
			left = append(left, one)
		}
	}
	o.found = left
	return nil
}

// status returns the status; nil if there is nothing to say.
func (o *orphans) status() *v1.Orphans {
	if len(o.found) == 0 && len(o.unlisted) == 0 {
		return nil
	}
	slices.SortFunc(o.found, func(a, b orphan) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.region, b.region), cmp.Compare(a.id, b.id))
	})
	slices.Sort(o.unlisted)
	out := &v1.Orphans{Unlisted: o.unlisted}
	var bytes int64
	for i, one := range o.found {
		bytes += one.bytes
		if one.isDump() {
			out.Dumps++
		} else {
			out.Snapshots++
		}
		if i < maxOrphans {
			out.Items = append(out.Items, one.item())
		}
	}
	out.Size = quantity(bytes)
	return out
}

// item returns the entry of an orphan in a status.
func (o orphan) item() v1.Orphan {
	out := v1.Orphan{ID: v1.Excerpt(o.id, maxOrphanText), Region: o.region, Size: quantity(o.bytes)}
	if name := o.tags[cloud.TagBackup]; name != "" {
		out.Backup = v1.Excerpt(o.tags[cloud.TagNamespace]+"/"+name, maxOrphanText)
	}
	return out
}
