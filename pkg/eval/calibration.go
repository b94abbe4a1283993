package eval

// A Calibration is what a judge is worth, measured on items that humans have
// labelled, and what that makes of the pass rate which it gave.
type Calibration struct {
	Items int `json:"items"`
	// What humans said, and the judge beside it.
	TruePass  int `json:"true_pass"`
	FalsePass int `json:"false_pass"`
	TrueFail  int `json:"true_fail"`
	FalseFail int `json:"false_fail"`
	// Sensitivity is the share of good items that the judge passed, Specificity the
	// share of bad ones that it failed.
	Sensitivity Estimate `json:"sensitivity"`
	Specificity Estimate `json:"specificity"`
	// Agreement with humans: raw, and beyond chance by Cohen and by Gwet.
	Agreement Estimate `json:"agreement"`
	Kappa     Estimate `json:"cohen_kappa"`
	AC1       Estimate `json:"gwet_ac1"`
	// PassRate that the judge gave, over Judged scores, and Corrected for what it
	// gets wrong.
	Judged    int      `json:"judged"`
	PassRate  Estimate `json:"pass_rate"`
	Corrected Estimate `json:"corrected_pass_rate"`
	// Audited is the pass rate by the labels, sharpened by the judge's verdicts on
	// what has none: the better one when the labelled items are a random sample.
	Audited Estimate `json:"audited_pass_rate"`
	// VoteAlpha is Krippendorff's reliability of a judge's votes on the same item,
	// and VoteDisagreement the share of pairs of votes that differ; null where no
	// item has several.
	VoteAlpha        *float64 `json:"vote_alpha"`
	VoteDisagreement *float64 `json:"vote_disagreement"`
	Warnings         []string `json:"warnings,omitempty"`
}

// An Estimate is a number with its interval, of 95 % where nothing else is said; null
// where there is none.
type Estimate struct {
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}
