package ec2

import (
	"fmt"
)

// kind holds the limits of a type of volume.
type kind struct {
	minSize, maxSize int64 // In GiB.
	// minIOPS and maxIOPS bound the requested IOPS; zero allows no request for IOPS.
	minIOPS, maxIOPS int64
	// ratio is the maximum of IOPS for each GiB.
	ratio int64
	// maxThroughput is in MiB/s; zero allows no request for throughput.
	maxThroughput int64
}

// kinds returns the types of volumes, with the documented bounds of the API.
func kinds() map[string]kind {
	return map[string]kind{
		"gp3":      {minSize: 1, maxSize: 65536, minIOPS: 3000, maxIOPS: 80000, ratio: 500, maxThroughput: 2000},
		"gp2":      {minSize: 1, maxSize: 16384},
		"io1":      {minSize: 4, maxSize: 16384, minIOPS: 100, maxIOPS: 64000, ratio: 50},
		"io2":      {minSize: 4, maxSize: 65536, minIOPS: 100, maxIOPS: 256000, ratio: 1000},
		"st1":      {minSize: 125, maxSize: 16384},
		"sc1":      {minSize: 125, maxSize: 16384},
		"standard": {minSize: 1, maxSize: 1024},
	}
}

// check rejects a volume that EC2 would reject, and sets the defaults of EC2.
func (w *wanted) check(who caller) *fault {
	if w.kind == "" {
		w.kind = "gp2" // EC2's own default, older than the CSI driver's.
	}
	k, ok := kinds()[w.kind]
	bare := k.maxThroughput == 0 && w.throughput > 0 || k.maxIOPS == 0 && w.iops > 0
	switch {
	case !ok:
		return invalid("UnknownVolumeType", fmt.Sprintf("Unsupported volume type '%s' for volume creation.", w.kind))
	case regionOf(w.zone) != who.region || w.zone == who.region:
		return invalid("InvalidZone.NotFound", fmt.Sprintf("The zone '%s' does not exist.", w.zone))
	case w.size == 0:
		return invalid("MissingParameter", "The request must contain the parameter size or snapshotId")
	case w.size < k.minSize || w.size > k.maxSize:
		return invalid("InvalidParameterValue", fmt.Sprintf("Volume of %dGiB is not between %d and %dGiB for type %s", w.size, k.minSize, k.maxSize, w.kind))
	case bare:
		return invalid("InvalidParameterCombination", fmt.Sprintf("The parameters iops and throughput are not all supported for %s volumes.", w.kind))
	case w.key != "" && !w.encrypted:
		return invalid("InvalidParameterDependency", "The parameter KmsKeyId requires the parameter Encrypted to be set.")
	case w.rate > 0 && (w.rate < 100 || w.rate > 300 || w.snapshot == ""):
		return invalid("InvalidParameterValue", "VolumeInitializationRate is between 100 and 300 MiB/s and needs a snapshot")
	}
	return w.perform(k)
}

// perform checks IOPS and throughput.
func (w *wanted) perform(k kind) *fault {
	switch {
	case w.kind == "gp3":
		w.iops, w.throughput = orElse(w.iops, 3000), orElse(w.throughput, 125)
	case w.iops == 0 && k.maxIOPS > 0:
		return invalid("MissingParameter", fmt.Sprintf("The parameter iops must be specified for %s volumes.", w.kind))
	case w.kind == "gp2":
		w.iops = min(max(3*w.size, 100), 16000)
		return nil
	}
	switch {
	case k.maxIOPS > 0 && (w.iops < k.minIOPS || w.iops > k.maxIOPS):
		return invalid("InvalidParameterValue", fmt.Sprintf("Volume iops of %d is not between %d and %d for type %s", w.iops, k.minIOPS, k.maxIOPS, w.kind))
	case k.ratio > 0 && w.iops > max(k.ratio*w.size, k.minIOPS):
		return invalid("InvalidParameterValue", fmt.Sprintf("Iops to volume size ratio of %.1f is too high; maximum is %d", float64(w.iops)/float64(w.size), k.ratio))
	case k.maxThroughput > 0 && (w.throughput < 125 || w.throughput > k.maxThroughput || 4*w.throughput > w.iops):
		return invalid("InvalidParameterValue", fmt.Sprintf("Throughput of %d MiB/s is not between 125 and %d, or above a quarter of the iops", w.throughput, k.maxThroughput))
	}
	return nil
}

func orElse(n, otherwise int64) int64 {
	if n == 0 {
		return otherwise
	}
	return n
}
