// Package restore is the controller of Restores: it makes volumes from the snapshots of
// a Backup and puts them in the place where the database looks for its own, or has its
// dump loaded into the database.
//
// # What
//
//	Pending      what is to be restored is found, and whether that can be
//	InProgress   volumes are made in the cloud; the database is stopped, if there is
//	             one; its claims are exchanged
//	Starting     the claims are bound, and the database starts on them
//	Completed    it is ready, or there is no application there yet
//	Failed       it cannot be: nothing was exchanged, and what was stopped runs again
//
// A Restore goes into the cluster that was backed up or into another one of the same
// provider and account, in whose region the backup has a snapshot or a copy. Where the
// database has a volume there already, that is refused unless spec.overwrite says
// otherwise; the volume that is replaced is kept, in the cloud and as a
// PersistentVolume.
//
// The order of the rest follows from the copy: what depends on the database waits for it.
//
// A dump goes into a cluster of any provider, where the application is placed or as soon
// as it is: see package logical. Its phases are the same but for one:
//
//	InProgress   what uses the database is stopped, and a Job loads the dump
//	Starting     the dump is loaded, and what uses the database starts
//	CleaningUp   it could not be loaded: what was stopped runs again
//
// Restores into one database wait for each other, of whichever kind they are: see package
// turn. What is verified is verified beside the database: see package verification.
//
// # Not
//
// Nothing is deleted in a cloud but volumes that this Restore made and no claim is bound
// to, and in a member nothing but what it made there to load or to verify. Backups are not
// changed, but for when they were verified; one that is being restored cannot be deleted (package
// hub/controllers/backup).
//
// # Trade-offs
//
//   - A PersistentVolume with the handle of a volume that we made, and a claim that asks
//     for it by name: no driver of the member has to make anything, and no snapshot kind
//     is needed there. The price is a permission to make volumes in the cloud.
//   - A claim that is exchanged is deleted, after its PersistentVolume was told to stay.
//     A StatefulSet finds its claims by name alone, so that there is no other way.
//   - What goes on in the member is looked at every few seconds while a Restore is under
//     way, and not watched: pods, claims and volumes of a whole cluster are much to keep
//     for something so rare.
package restore
