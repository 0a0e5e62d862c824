// Package csi says what a cluster's storage should be in Kubernetes, and which volume
// of a cloud is behind a PersistentVolume.
//
// # Purpose
//
//   - Classes makes the StorageClasses and the VolumeSnapshotClass of a cluster,
//     AppClass the one that an application's cloudConfig asks for, and ClassName tells
//     which of them the volumes of a copy get. CheckSize finds what a driver would
//     refuse only when a claim is made.
//   - ParsePV reads where the volume of a PersistentVolume is; StaticPV writes a
//     PersistentVolume for a volume that there is already. ProviderOf tells who provides.
//   - CapabilitiesOf tells what a provider can do, without asking it.
//
// # Profiles
//
//	          aws                    gcp           azure
//	standard  gp3                    pd-balanced   StandardSSD_LRS
//	fast      gp3, 6000 IOPS, 250    pd-ssd        Premium_LRS
//	archive   st1                    pd-standard   Standard_LRS
//
// On clusters of the provider local each stands for the cluster's default class.
//
// # Non-goals
//
// No client, context, clock or log. Nothing here asks a cloud or a cluster anything. Disks of
// in-tree plugins are migrated by k8s.io/csi-translation-lib, as Kubernetes does.
//
// # Trade-offs
//
//   - fast on AWS is gp3 and not io2, the dearer of the two: it has twice the operations of
//     standard. Who needs io2 says so in cloudConfig. On Azure it is Premium_LRS and
//     not PremiumV2_LRS, which not every region and no machine without a zone has;
//     standard is StandardSSD_LRS, which every size of machine takes.
//   - archive on AWS is st1 and not the cheaper sc1: a database that starts reads all
//     over its volume, for which sc1 takes many minutes. Both are at least 125 GiB, which
//     CheckSize tells.
//   - A class cannot be changed, so its name has a hash of all that is fixed in it:
//     another content is another class, and volumes keep the one that they have.
//   - Where EKS has both drivers of EBS, it is ebs.csi.aws.com: somebody installed that
//     one on purpose, and the volumes of the two do not mix.
//   - A volume handle is left as the driver wrote it, so that it is found again as it
//     stands in the cluster.
package csi
