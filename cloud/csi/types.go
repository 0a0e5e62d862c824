package csi

import v1 "github.com/shopfleet/shopfleet/api/v1"

// bounds are the least and the most that a number may be. The zero value: it must be absent.
type bounds struct{ low, high int32 }

func (b bounds) none() bool { return b == bounds{} }

// diskType holds the limits that a provider documents for a type of disk.
type diskType struct {
	// iops are operations a second, throughput is in MiB (on Azure MB) a second.
	iops, throughput bounds
	// needsIOPS is true if there is no default.
	needsIOPS bool
	// defaultIOPS is the number of IOPS if none is requested; 0 if it depends on the size.
	defaultIOPS int32
	// perThroughput is the minimum of IOPS for each MiB/s; 0 means no minimum.
	perThroughput int32
	// maxPerThroughput is the maximum of IOPS for each MiB/s; 0 means no maximum.
	maxPerThroughput int32
	// minGiB and maxGiB bound the size.
	minGiB, maxGiB int64
	// iopsPerGiB bounds the operations of a small disk; 0 is no bound.
	iopsPerGiB int64
}

// diskTypes returns a provider's types of disk by name. The numbers are the vendors',
// for what the largest machines take; a smaller machine gives less without an error.
func diskTypes(p v1.Provider) map[string]diskType {
	switch p {
	case v1.ProviderAWS:
		return map[string]diskType{
			"gp2": {minGiB: 1, maxGiB: 16384},
			"gp3": {
				iops: bounds{3000, 80000}, throughput: bounds{125, 2000}, defaultIOPS: 3000, perThroughput: 4,
				minGiB: 1, maxGiB: 65536, iopsPerGiB: 500,
			},
			"io1": {iops: bounds{100, 64000}, needsIOPS: true, minGiB: 4, maxGiB: 16384, iopsPerGiB: 50},
			"io2": {iops: bounds{100, 256000}, needsIOPS: true, minGiB: 4, maxGiB: 65536, iopsPerGiB: 1000},
			"st1": {minGiB: 125, maxGiB: 16384},
			"sc1": {minGiB: 125, maxGiB: 16384},
		}
	case v1.ProviderGCP:
		return map[string]diskType{
			"pd-standard": {minGiB: 1, maxGiB: 65536},
			"pd-balanced": {minGiB: 1, maxGiB: 65536},
			"pd-ssd":      {minGiB: 1, maxGiB: 65536},
			"pd-extreme":  {iops: bounds{10000, 120000}, minGiB: 500, maxGiB: 65536},
			"hyperdisk-balanced": {
				iops: bounds{3000, 160000}, throughput: bounds{140, 2400}, perThroughput: 4, maxPerThroughput: 256,
				minGiB: 4, maxGiB: 65536, iopsPerGiB: 500,
			},
			"hyperdisk-extreme":    {iops: bounds{128, 350000}, minGiB: 64, maxGiB: 65536, iopsPerGiB: 1200},
			"hyperdisk-throughput": {throughput: bounds{20, 2400}, minGiB: 2048, maxGiB: 32768},
		}
	case v1.ProviderAzure:
		return map[string]diskType{
			"Standard_LRS":    {minGiB: 1, maxGiB: 32767},
			"StandardSSD_LRS": {minGiB: 1, maxGiB: 32767},
			"StandardSSD_ZRS": {minGiB: 1, maxGiB: 32767},
			"Premium_LRS":     {minGiB: 1, maxGiB: 32767},
			"Premium_ZRS":     {minGiB: 1, maxGiB: 32767},
			premiumV2: {
				iops: bounds{3000, 80000}, throughput: bounds{125, 2000}, defaultIOPS: 3000, perThroughput: 4,
				minGiB: 1, maxGiB: 65536, iopsPerGiB: 500,
			},
			ultra: {
				iops: bounds{100, 400000}, throughput: bounds{1, 10000}, defaultIOPS: 500, perThroughput: 4,
				minGiB: 4, maxGiB: 65536, iopsPerGiB: 1000,
			},
		}
	default:
		return nil
	}
}

// The SKUs of Azure whose performance is chosen. A machine must not cache them.
const (
	premiumV2 = "PremiumV2_LRS"
	ultra     = "UltraSSD_LRS"
)

func uncached(sku string) bool { return sku == premiumV2 || sku == ultra }
