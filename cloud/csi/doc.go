// Package csi computes the storage classes of a cluster, and finds the volumes of PersistentVolumes in a
// cloud.
//
// # Purpose
//
//   - Classes returns the StorageClasses and the VolumeSnapshotClass of a cluster, AppClass the one
//     for an application's cloudConfig, and ClassOf the class for the volumes of a
//     copy. CheckSize refuses sizes that a driver would refuse only once a claim exists.
//   - ParsePV returns the reference to the volume of a PersistentVolume. ProviderOf returns the provider
//     of a driver.
//   - CapabilitiesOf returns the features that a provider supports, without a request.
//
// # Profiles
//
//	          aws                    gcp           azure
//	standard  gp3                    pd-balanced   StandardSSD_LRS
//	fast      gp3, 6000 IOPS, 250    pd-ssd        Premium_LRS
//	archive   st1                    pd-standard   Standard_LRS
//
// On clusters of the provider other each profile selects the cluster's default class.
//
// # Non-goals
//
// The package uses no client, context, clock or logger, and sends no request to a cloud or a cluster.
// k8s.io/csi-translation-lib migrates the volumes of in-tree plugins, as in Kubernetes.
//
// # Trade-offs
//
//   - fast on AWS is gp3 with twice the IOPS of standard, not the more expensive io2, which
//     cloudConfig can select. On Azure it is Premium_LRS and not PremiumV2_LRS, which some regions
//     and machines without a zone do not support; standard is StandardSSD_LRS, which every machine
//     size supports.
//   - archive on AWS is st1 and not the cheaper sc1: a starting database reads from all over its
//     volume, which takes many minutes with sc1. Both need at least 125 GiB, which CheckSize checks.
//   - A class is immutable, so its name contains a hash of its immutable fields: a change creates
//     another class, and existing volumes keep theirs.
//   - In an EKS cluster with both EBS drivers, ebs.csi.aws.com is used: it was installed on purpose,
//     and the two drivers do not share volumes.
//   - Volume handles keep the driver's spelling, so that they equal those in the cluster.
package csi
