package eval

// TeX returns the formula in TeX, as docs/metrics has it and explains its letters. It uses commands that TeX, MathJax and
// KaTeX share.
func (d *Descriptor) TeX() string { return d.tex }

// written gives each metric its formula in TeX.
func written(l []Descriptor) {
	for i := range l {
		l[i].tex = tex[l[i].Name]
		for j := range l[i].Also {
			l[i].Also[j].tex = texAlso[l[i].Name][j]
		}
	}
}

// texAlso has the formulas of a name's other meanings, in the order of Also.
var texAlso = map[string][]string{
	"bias": {`\frac1N\sum_i (\mu_i-y_i)`},
	"nll":  {`\frac1N\sum_i \Bigl(\ln\sigma_i+\frac12\Bigl(\frac{y_i-\mu_i}{\sigma_i}\Bigr)^2+\frac12\ln 2\pi\Bigr)`},
	"crps": {
		`\frac1N\sum_i \sigma_i\Bigl(z_i\bigl(2\Phi(z_i)-1\bigr)+2\varphi(z_i)-\frac1{\sqrt\pi}\Bigr),\qquad z_i=\frac{y_i-\mu_i}{\sigma_i}`,
		`\frac1N\sum_i 2\int_0^1 \bigl([y_i<q_i(\tau)]-\tau\bigr)\bigl(q_i(\tau)-y_i\bigr)\,d\tau`,
	},
}

const (
	eceTeX    = `\frac1N\sum_b \Bigl|\sum_{i\in b} (p_i-y_i)\Bigr|`
	classTeX  = `\frac1K\sum_k \frac1N\sum_b \Bigl|\sum_{i\in b} \bigl(p_{ik}-[y_i=k]\bigr)\Bigr|`
	aurocTeX  = `\frac1{W^+W^-}\sum_g w^+_g\Bigl(W^-_{<g}+\frac{w^-_g}2\Bigr)`
	bayesTeX  = `\sum_b \bigl|q_{1b}-\mu_b\,(q_{0b}+q_{1b})\bigr|,\qquad q\sim\mathrm{Dirichlet}\Bigl(\frac1{2B}+n\Bigr),\qquad \mu_b\sim\mathcal N_b\Bigl(\frac{c_b+\sum_{i\in b}p_i}{n_b+1},\ \frac{w^2}{12\,(n_b+1)}\Bigr)`
	pairsTeX  = `\frac1N\sum_i \frac2{M(M-1)}\sum_{m<m'} `
	scaledTeX = `\qquad z_i\mapsto z_i/T_{-f(i)}`
	sigmaTeX  = `\max_s \frac{N_s\,V_s}{\sqrt{\sum_{i\in s}p_i(1-p_i)}}`
	chanceTeX = `\frac{v_b}{n_b}`
)

// tex has the formulas by name. The letters are those of docs/metrics/README.md.
var tex = map[string]string{
	"mean_risk":        `\frac1N\sum_i p_i(h)`,
	"event_share_km":   `1-S(h)`,
	"bias_km":          `\frac1N\sum_i p_i(h)-\bigl(1-S(h)\bigr)`,
	"ici_cox":          `\frac1N\sum_i\bigl|p_i-c(p_i)\bigr|,\qquad c(p)=1-\exp\Bigl(-H_0(h)\,e^{f(\ln(-\ln(1-p)))}\Bigr)`,
	"e50_cox":          `Q_{0.5}\bigl\{|p_i-c(p_i)|\bigr\},\qquad c(p)=1-\exp\Bigl(-H_0(h)\,e^{f(\ln(-\ln(1-p)))}\Bigr)`,
	"e90_cox":          `Q_{0.9}\bigl\{|p_i-c(p_i)|\bigr\},\qquad c(p)=1-\exp\Bigl(-H_0(h)\,e^{f(\ln(-\ln(1-p)))}\Bigr)`,
	"emax_cox":         `\max_i\bigl|p_i-c(p_i)\bigr|,\qquad c(p)=1-\exp\Bigl(-H_0(h)\,e^{f(\ln(-\ln(1-p)))}\Bigr)`,
	"cce":              `\sqrt{\max\Bigl(0,\ \frac1N\sum_i w_i\,(p_i-y_i)\bigl(p_i-c_{-f(i)}(p_i)\bigr)\Bigr)},\qquad c(p)=1-S(h|p),\qquad w_i=\min\Bigl(20,\ \frac1{G(t_i|p_i)}\Bigr)`,
	"ece_km":           `\sum_b \frac{n_b}N\bigl|\bar p_b-(1-S_b(h))\bigr|`,
	"brier_ipcw":       `\frac1N\sum_i w_i\bigl(p_i(h)-y_i\bigr)^2`,
	"brier_integrated": `\frac1{t_K-t_1}\int_{t_1}^{t_K} \frac1N\sum_i w_i\bigl(p_i(t)-y_i(t)\bigr)^2\,dt`,
	"auroc_ipcw":       `\frac{\sum_{i:\,y_i=1}\sum_{j:\,t_j>h} w_i\bigl([p_i>p_j]+\frac12[p_i=p_j]\bigr)}{\sum_{i:\,y_i=1} w_i\ \#\{j:t_j>h\}}`,
	"concordance_ipcw": `\frac{\sum_{i,j} G(t_i)^{-2}\,[t_i<t_j,\ t_i<h]\bigl([p_i>p_j]+\frac12[p_i=p_j]\bigr)}{\sum_{i,j} G(t_i)^{-2}\,[t_i<t_j,\ t_i<h]}`,
	"concordance":      `\frac{\sum_{i,j} [t_i<t_j]\bigl([p_i>p_j]+\frac12[p_i=p_j]\bigr)}{\sum_{i,j} [t_i<t_j]}`,
	"d_calibration_p":  `\chi^2=\sum_b \frac{(n_b-N/B)^2}{N/B},\qquad n_b\text{ rows with }1-p_i(t_i)\text{ in bin }b`,

	"accuracy":          `\frac1N\sum_i \bigl[\arg\max_k p_{ik}=y_i\bigr]`,
	"balanced_accuracy": `\frac1C\sum_c \frac1{N_c}\sum_{i:\,y_i=c} \bigl[\arg\max_k p_{ik}=c\bigr]`,
	"top5_accuracy":     `\frac1N\sum_i \bigl[\#\{j:s_{ij}>s_{iy_i}\}+\#\{j<y_i:s_{ij}=s_{iy_i}\}<5\bigr]`,
	"topk_accuracy":     `\frac1N\sum_i \bigl[\#\{j:s_{ij}>s_{iy_i}\}+\#\{j<y_i:s_{ij}=s_{iy_i}\}<k\bigr]`,
	"confidence":        `\frac1N\sum_i \max_k p_{ik}`,
	"overconfidence":    `\frac1N\sum_i \Bigl(\max_k p_{ik}-\bigl[\arg\max_k p_{ik}=y_i\bigr]\Bigr)`,
	"base_rate":         `\frac1N\sum_i y_i`,
	"mean_p":            `\frac1N\sum_i p_i`,
	"bias":              `\frac1N\sum_i (p_i-y_i)`,
	"oe_ratio":          `\frac{\sum_i y_i}{\sum_i p_i}`,

	"nll":               `-\frac1N\sum_i \ln p_{iy_i}`,
	"nll_infinite_rows": `\#\{i:p_{iy_i}=0\}`,
	"nll_skill":         `1-\frac{-\frac1N\sum_i \ln p_{iy_i}}{-\sum_k \bar y_k\ln\bar y_k},\qquad \bar y_k=\frac1N\sum_i [y_i=k]`,
	"perplexity":        `\exp\Bigl(-\frac1N\sum_i \ln p_{iy_i}\Bigr)`,
	"bits_per_byte":     `\frac{-\sum_i \ln p_{iy_i}}{\ln 2\,\sum_i b_i}`,
	"sequence_nll":      `\frac1S\sum_s\sum_{i\in s} -\ln p_{iy_i}`,
	"brier":             `\frac1N\sum_i\sum_k \bigl(p_{ik}-[y_i=k]\bigr)^2,\qquad\text{binary: }\frac1N\sum_i (p_i-y_i)^2`,
	"brier_skill":       `1-\frac{\frac1N\sum_i\sum_k \bigl(p_{ik}-[y_i=k]\bigr)^2}{\frac1N\sum_i\sum_k \bigl(\bar y_k-[y_i=k]\bigr)^2},\qquad \bar y_k=\frac1N\sum_i [y_i=k]`,
	"brier_uncertainty": `1-\sum_k \bar y_k^2,\qquad \bar y_k=\frac1N\sum_i [y_i=k],\qquad\text{binary: }\bar y\,(1-\bar y)`,
	"brier_resolution":  `\frac1N\sum_i\sum_k \bigl(D_{g(i)k}-\bar y_k\bigr)^2`,
	"brier_reliability": `\frac1N\sum_i\sum_k \bigl(D_{g(i)k}-p_{ik}\bigr)^2`,
	"brier_within_bin":  `-\frac2N\sum_i\sum_k \bigl(p_{ik}-m_{g(i)k}\bigr)\bigl([y_i=k]-D_{g(i)k}\bigr)`,
	"spherical":         `\frac1N\sum_i \Bigl(1-\frac{p_{iy_i}}{\sqrt{\sum_k p_{ik}^2}}\Bigr)`,
	"rps":               `\frac1N\sum_i\sum_{k=1}^{K-1} \Bigl(\sum_{j\le k} p_{ij}-[y_i\le k]\Bigr)^2`,
	"entropy":           `\frac1N\sum_i\sum_k -p_{ik}\ln p_{ik}`,

	"ece":                       eceTeX,
	"ece_positive":              `\frac1N\sum_b \Bigl|\sum_{i\in b} \bigl(p_{i1}-[y_i=1]\bigr)\Bigr|`,
	"ece_top_label":             `\frac1N\sum_b \Bigl|\sum_{i\in b} \Bigl(\max_k p_{ik}-\bigl[\arg\max_k p_{ik}=y_i\bigr]\Bigr)\Bigr|`,
	"ece_floor":                 `\sqrt{\frac2\pi}\;\frac1N\sum_b \sqrt{\sum_{i\in b} p_i(1-p_i)}`,
	"ece_floor_q95":             `Q_{0.95}\Bigl(\sum_b |Z_b|\Bigr),\qquad Z_b\sim\mathcal N\Bigl(0,\ \frac1{N^2}\sum_{i\in b} p_i(1-p_i)\Bigr)`,
	"ece_p":                     `P\Bigl(\sum_b |Z_b|\ge\mathrm{ece}\Bigr),\qquad Z_b\sim\mathcal N\Bigl(0,\ \frac1{N^2}\sum_{i\in b} p_i(1-p_i)\Bigr)`,
	"detectable_gap":            `\frac{2.80}N\sqrt{\sum_i p_i(1-p_i)}`,
	"mce":                       `\max_b \bigl|\bar p_b-\bar y_b\bigr|`,
	"rmsce":                     `\sqrt{\sum_b \frac{n_b}N\bigl(\bar p_b-\bar y_b\bigr)^2}`,
	"rmsce_debiased":            `\sqrt{\max\Bigl(0,\ \sum_{b:\,n_b\ge 2} \frac{n_b}N\Bigl(\bigl(\bar p_b-\bar y_b\bigr)^2-` + chanceTeX + `\Bigr)\Bigr)}`,
	"calibration_error_squared": `\sum_{b:\,n_b\ge 2} \frac{n_b}N\Bigl(\bigl(\bar p_b-\bar y_b\bigr)^2-` + chanceTeX + `\Bigr)`,
	"ece_unweighted":            `\frac1{B'}\sum_{b:\,n_b>0} \bigl|\bar p_b-\bar y_b\bigr|`,
	"ece_equal_mass":            eceTeX,
	"ece_sweep":                 `\frac1N\sum_{b=1}^{B^*} \Bigl|\sum_{i\in b} (p_i-y_i)\Bigr|,\qquad B^*=\max\bigl\{B:\bar y_1\le\dots\le\bar y_{B'}\text{ for all }B'\le B\bigr\}`,
	"ace":                       classTeX,
	"sce":                       classTeX,
	"tace":                      `\frac1K\sum_k \frac1{N_k}\sum_b \Bigl|\sum_{i\in b,\ p_{ik}>t} \bigl(p_{ik}-[y_i=k]\bigr)\Bigr|,\qquad N_k=\#\{i:p_{ik}>t\}`,
	"ece_bayes_mean":            `\mathrm E\,` + bayesTeX,
	"ece_bayes_q10":             `Q_{0.1}\ \text{of}\ ` + bayesTeX,
	"ece_bayes_q50":             `Q_{0.5}\ \text{of}\ ` + bayesTeX,
	"ece_bayes_q90":             `Q_{0.9}\ \text{of}\ ` + bayesTeX,

	"smooth_ece":            `\text{the }s\text{ with }\int_0^1 \Bigl|\frac1N\sum_i (y_i-p_i)\,K_s(t,p_i)\Bigr|\,dt=s`,
	"ks":                    `\max_j |S_j|,\qquad S_j=\frac1N\sum_{i:\,p_i\le p_j} (y_i-p_i)`,
	"ks_p":                  `P\Bigl(\max_{0\le t\le 1} |B_t|\ge\frac{N\,\mathrm{ks}}{\sqrt{\sum_i p_i(1-p_i)}}\Bigr)`,
	"kuiper":                `\max_{j\ge 0} S_j-\min_{j\ge 0} S_j,\qquad S_0=0,\qquad S_j=\frac1N\sum_{i:\,p_i\le p_j} (y_i-p_i)`,
	"kuiper_p":              `P\Bigl(\max_{0\le t\le 1} B_t-\min_{0\le t\le 1} B_t\ge\frac{N\,\mathrm{kuiper}}{\sqrt{\sum_i p_i(1-p_i)}}\Bigr)`,
	"skce":                  `\frac1{N(N-1)}\sum_{i\ne j} (y_i-p_i)(y_j-p_j)\,e^{-|p_i-p_j|/h}`,
	"canonical_skce":        `\frac1{N(N-1)}\sum_{i\ne j} k(p_i,p_j)\;e_i\cdot e_j,\qquad e_{ik}=[y_i=k]-p_{ik},\qquad k(p,p')=\frac1D\sum_{d=1}^D \mathrm{cos}\bigl(w_d\cdot(p-p')\bigr),\qquad w_d\sim\mathcal N(0,I/h^2)\text{, fixed}`,
	"canonical_skce_p":      `\frac{1+\#\{\mathrm{canonical\_skce}\text{ of drawn outcomes}\ge\mathrm{canonical\_skce}\}}{1+R}`,
	"skce_p":                `P\bigl(G\ge\mathrm{skce}\bigr),\qquad G\text{ gamma with the mean, variance and third moment of skce where }y_i\sim\mathrm{Bernoulli}(p_i)`,
	"mmce":                  `\sqrt{\frac1{N^2}\sum_{i,j} (y_i-p_i)(y_j-p_j)\,e^{-|p_i-p_j|/h}}`,
	"tcal":                  `T_m=\frac1N\sum_{b=1}^m \frac{\bigl(\sum_{i\in b} e_i\bigr)^2-\sum_{i\in b} e_i^2}{n_b},\qquad e_i=y_i-p_i`,
	"tcal_bins":             `m=\arg\min_m P_m,\qquad m=2,4,8,\dots,\qquad\frac m2<\frac{N^2}{\ln N}`,
	"tcal_p":                `\min\bigl(1,B\min_m P_m\bigr),\qquad P_m=P\bigl(T_m'\ge T_m\bigr),\qquad T_m'\text{ of }y_i\sim\mathrm{Bernoulli}(p_i)`,
	"spiegelhalter_z":       `Z=\frac{\sum_i (y_i-p_i)(1-2p_i)}{\sqrt{\sum_i (1-2p_i)^2\,p_i(1-p_i)}}`,
	"spiegelhalter_p":       `P\bigl(|\mathcal N(0,1)|\ge|Z|\bigr)`,
	"hosmer_lemeshow":       `H=\sum_g \frac{(O_g-E_g)^2}{n_g\,\bar p_g(1-\bar p_g)},\qquad O_g=\sum_{i\in g} y_i,\qquad E_g=\sum_{i\in g} p_i=n_g\bar p_g`,
	"hosmer_lemeshow_p":     `P\bigl(\chi^2_G\ge H\bigr),\qquad\text{fitted: }P\bigl(\chi^2_{G-2}\ge H\bigr)`,
	"giviti":                `T=2\bigl(l(b)-l(p)\bigr),\qquad b\ \text{of}\ \ln\frac{P(y=1)}{P(y=0)}=\sum_{k=0}^m b_k\Bigl(\ln\frac p{1-p}\Bigr)^k`,
	"giviti_degree":         `m=\min\bigl\{m\ge 1:2(l_{m+1}-l_m)<3.84\bigr\},\qquad m\le 4,\qquad\text{fitted: }m\ge 2`,
	"giviti_p":              `P\Bigl(\chi^2_2+\sum_{j=1}^{m-1} X_j\ge T\Bigr),\qquad X_j\sim\chi^2_1\text{ given }X_j>3.84,\qquad\text{fitted: }P\Bigl(\chi^2_1+\sum_{j=1}^{m-2} X_j\ge T\Bigr)`,
	"ici":                   `\frac1N\sum_i \bigl|p_i-c(p_i)\bigr|`,
	"e50":                   `Q_{0.5}\bigl\{|p_i-c(p_i)|\bigr\}`,
	"e90":                   `Q_{0.9}\bigl\{|p_i-c(p_i)|\bigr\}`,
	"calibration_slope":     `b\ \text{in}\ \ln\frac{P(y=1)}{P(y=0)}=a+b\ln\frac p{1-p}`,
	"calibration_intercept": `a\ \text{in}\ \ln\frac{P(y=1)}{P(y=0)}=a+b\ln\frac p{1-p},\qquad\text{unit slope: with }b=1`,
	"corp_mcb":              `S-S_C=\frac1N\sum_i (p_i-y_i)^2-\frac1N\sum_i (\hat p_i-y_i)^2`,
	"corp_mcb_floor":        `\mathrm E\bigl(S-S_C\bigr)\ \text{where}\ y_i\sim\mathrm{Bernoulli}(p_i)`,
	"corp_dsc":              `S_R-S_C=\frac1N\sum_i (\bar y-y_i)^2-\frac1N\sum_i (\hat p_i-y_i)^2`,
	"corp_unc":              `S_R=\frac1N\sum_i (\bar y-y_i)^2`,
	"spce":                  `\sqrt{\max\Bigl(0,\ \frac1N\sum_i w(p_i)\,(p_i-y_i)\bigl(p_i-c_{-f(i)}(p_i)\bigr)\Bigr)}`,
	"e_calibration":         `\frac1{16}\sum_{\lambda} \prod_i \bigl(1+\lambda\,(y_i-p_i)\bigr),\qquad \lambda=\pm 2^{-1},\dots,\pm 2^{-8}`,

	"auroc":            aurocTeX,
	"auprc":            `\sum_g \frac{\mathrm{TP}_g-\mathrm{TP}_{g-1}}{\mathrm{TP}}\cdot\frac{\mathrm{TP}_g}{\mathrm{TP}_g+\mathrm{FP}_g}`,
	"sharpness_class0": `\frac1{N_0}\sum_{i:\,y_i=0} (1-p_i)`,
	"sharpness_class1": `\frac1{N_1}\sum_{i:\,y_i=1} p_i`,

	"net_benefit":          `\frac{\mathrm{TP}}N-\frac{\mathrm{FP}}N\cdot\frac t{1-t},\qquad\text{positive: }p_i\ge t`,
	"expected_cost":        `\frac1N\bigl(c_{\mathrm{TP}}\mathrm{TP}+c_{\mathrm{FP}}\mathrm{FP}+c_{\mathrm{FN}}\mathrm{FN}+c_{\mathrm{TN}}\mathrm{TN}\bigr),\qquad\text{positive: }p_i\ge t=\frac{c_{\mathrm{FP}}-c_{\mathrm{TN}}}{c_{\mathrm{FP}}-c_{\mathrm{TN}}+c_{\mathrm{FN}}-c_{\mathrm{TP}}}`,
	"avoidable_cost":       `C(t)-\min_{t'} C(t'),\qquad C(t)\text{ the mean cost at the threshold }t\text{ of expected cost}`,
	"least_cost_threshold": `\max\bigl\{t:C(t)=\min_{t'} C(t')\bigr\},\qquad C(t)\text{ the mean cost at the threshold }t`,
	"coverage_at_risk":     `\max_j\Bigl\{\frac{m_j}N:P\bigl(\mathrm{Bin}(m_j,r)\le e_j\bigr)\le\frac{1-c}J\Bigr\},\qquad j=1,\dots,J`,
	"threshold_at_risk":    `\text{the score at place }\lfloor jN/J\rfloor+1\text{ for the }j\text{ of coverage at risk}`,

	"calibration_auc":    aurocTeX,
	"aurc":               `\frac1N\sum_{k=1}^N \frac{E_k}k,\qquad E_k\text{ errors among the }k\text{ most confident rows}`,
	"eaurc":              `\mathrm{aurc}-\frac1N\Bigl(E-(N-E)\bigl(H_N-H_{N-E}\bigr)\Bigr),\qquad H_n=\sum_{j=1}^n \frac1j`,
	"augrc":              `\frac1{N^2}\sum_g \Bigl(m_g E_{<g}+\frac{e_g m_g}2\Bigr)=(1-\mathrm{AUROC})\,a(1-a)+\frac{(1-a)^2}2`,
	"oracle_accuracy":    `\frac1N\Bigl(\lfloor fN\rfloor+\sum_{k>\lfloor fN\rfloor} r_k\Bigr)`,
	"oracle_auc":         `\int_0^1 \mathrm{TPR}_f\,d\,\mathrm{FPR}_f`,
	"abstain_precision":  `\frac1{\lfloor fN\rfloor}\sum_{k\le\lfloor fN\rfloor} (1-r_k)`,
	"abstain_recall":     `\frac1E\sum_{k\le\lfloor fN\rfloor} (1-r_k)`,
	"retention_accuracy": `\frac1{N+1}\Bigl(1+\sum_{k=1}^N \frac{R_k}k\Bigr),\qquad R_k\text{ right rows among the }k\text{ most confident}`,
	"retention_nll":      `\frac1{N+1}\sum_{k=1}^N \frac1k\sum_{j\le k} -\ln p_{jy_j},\qquad\text{rows }j\text{ by falling confidence}`,

	"ood_auroc":     `\frac1{N_{\mathrm{in}}N_{\mathrm{out}}}\sum_{i\in\mathrm{in}}\ \sum_{j\in\mathrm{out}} \Bigl([u_j>u_i]+\frac12[u_j=u_i]\Bigr)`,
	"ood_auprc_in":  `\sum_g \frac{\mathrm{TP}_g-\mathrm{TP}_{g-1}}{N_{\mathrm{in}}}\cdot\frac{\mathrm{TP}_g}{\mathrm{TP}_g+\mathrm{FP}_g},\qquad\text{lowest }u\text{ first, positive: in}`,
	"ood_auprc_out": `\sum_g \frac{\mathrm{TP}_g-\mathrm{TP}_{g-1}}{N_{\mathrm{out}}}\cdot\frac{\mathrm{TP}_g}{\mathrm{TP}_g+\mathrm{FP}_g},\qquad\text{highest }u\text{ first, positive: out}`,
	"ood_fpr95":     `\frac1{N_{\mathrm{in}}}\#\{i\in\mathrm{in}:u_i\ge t\},\qquad t=\max\Bigl\{t:\frac1{N_{\mathrm{out}}}\#\{j\in\mathrm{out}:u_j\ge t\}\ge 0.95\Bigr\}`,

	"mutual_information":    `\frac1N\sum_i \Bigl(H(\bar p_i)-\frac1M\sum_m H(p_i^m)\Bigr)`,
	"knowledge_uncertainty": `\frac1N\sum_i \Bigl(H\Bigl(\frac{\alpha_i}{\alpha_{i0}}\Bigr)-\sum_k \frac{\alpha_{ik}}{\alpha_{i0}}\bigl(\psi(\alpha_{i0}+1)-\psi(\alpha_{ik}+1)\bigr)\Bigr),\qquad \alpha_{i0}=\sum_k \alpha_{ik}`,
	"total_uncertainty":     `\frac1N\sum_i H(\bar p_i),\qquad\text{of parameters }\frac1N\sum_i H\Bigl(\frac{\alpha_i}{\alpha_{i0}}\Bigr)`,
	"data_uncertainty":      `\frac1N\sum_i \frac1M\sum_m H(p_i^m),\qquad\text{of parameters }\frac1N\sum_i\sum_k \frac{\alpha_{ik}}{\alpha_{i0}}\bigl(\psi(\alpha_{i0}+1)-\psi(\alpha_{ik}+1)\bigr)`,
	"ensemble_nll":          `\frac1N\sum_i -\ln\frac1M\sum_m p^m_{iy_i}`,
	"gibbs_nll":             `\frac1N\sum_i \frac1M\sum_m -\ln p^m_{iy_i}`,
	"disagreement":          pairsTeX + `\bigl[\arg\max_k p^m_{ik}\ne\arg\max_k p^{m'}_{ik}\bigr]`,
	"double_fault":          pairsTeX + `\bigl[\arg\max_k p^m_{ik}\ne y_i\bigr]\bigl[\arg\max_k p^{m'}_{ik}\ne y_i\bigr]`,
	"average_kl":            pairsTeX + `\sum_k p^m_{ik}\ln\frac{p^m_{ik}}{p^{m'}_{ik}}`,
	"logit_kl":              pairsTeX + `\mathrm{KL}\bigl(\mathrm{softmax}(s^m_i)\,\|\,\mathrm{softmax}(s^{m'}_i)\bigr)`,
	"cosine_similarity":     pairsTeX + `\frac{\sum_k p^m_{ik}\,p^{m'}_{ik}}{\|p^m_i\|\,\|p^{m'}_i\|}`,
	"lp_distance":           pairsTeX + `\Bigl(\sum_k \bigl|p^m_{ik}-p^{m'}_{ik}\bigr|^p\Bigr)^{1/p}`,
	"bregman_kl_variance":   `\frac1N\sum_i \frac1M\sum_m \mathrm{KL}(c_i\,\|\,p_i^m),\qquad c_i=\mathrm{softmax}\Bigl(\frac1M\sum_m \ln p_i^m\Bigr)`,
	"variance_bound":        `\frac1N\sum_i \frac1M\sum_m \frac12\Bigl(\frac{p^m_{iy_i}-\bar p_{iy_i}}{\max_{m'} p^{m'}_{iy_i}}\Bigr)^2`,

	"crps":                           `\frac1N\sum_i \Bigl(\frac1M\sum_j |x_{ij}-y_i|-\frac1{M^2}\sum_{j<k} |x_{ij}-x_{ik}|\Bigr)`,
	"crps_fair":                      `\frac1N\sum_i \Bigl(\frac1M\sum_j |x_{ij}-y_i|-\frac1{M(M-1)}\sum_{j<k} |x_{ij}-x_{ik}|\Bigr)`,
	"crps_pwm":                       `\frac1N\sum_i \Bigl(\frac1M\sum_j |x_{ij}-y_i|+b_{i0}-2b_{i1}\Bigr),\qquad b_{i0}=\frac1M\sum_j x_{i(j)},\qquad b_{i1}=\frac1{M(M-1)}\sum_j (j-1)\,x_{i(j)}`,
	"crps_rolled":                    `\frac1N\sum_i \Bigl(\frac1M\sum_j |x_{ij}-y_i|-\frac1{2M}\sum_j |x_{i,j-1}-x_{ij}|\Bigr),\qquad x_{i0}=x_{iM}`,
	"wis":                            `\frac1N\sum_i \frac1{Q+\frac12}\Bigl(\frac{|y_i-m_i|}2+\sum_a \frac a2\Bigl(u_{ia}-l_{ia}+\frac2a\max(0,\,l_{ia}-y_i,\,y_i-u_{ia})\Bigr)\Bigr)`,
	"wis_dispersion":                 `\frac1N\sum_i \frac1{Q+\frac12}\sum_a \frac a2\,(u_{ia}-l_{ia})`,
	"wis_underprediction":            `\frac1N\sum_i \frac1{Q+\frac12}\Bigl(\frac{\max(0,\,y_i-m_i)}2+\sum_a \max(0,\,y_i-u_{ia})\Bigr)`,
	"wis_overprediction":             `\frac1N\sum_i \frac1{Q+\frac12}\Bigl(\frac{\max(0,\,m_i-y_i)}2+\sum_a \max(0,\,l_{ia}-y_i)\Bigr)`,
	"interval_score_underprediction": `\frac1N\sum_i \frac2a\max(0,\,y_i-u_i),\qquad a=1-L`,
	"interval_score_overprediction":  `\frac1N\sum_i \frac2a\max(0,\,l_i-y_i),\qquad a=1-L`,
	"interval_score_mcb":             `S-C=\frac1N\sum_i \Bigl(S_a(l_i,u_i;y_i)-S_a(\hat l_i,\hat u_i;y_i)\Bigr)`,
	"interval_score_dsc":             `R-C=\frac1N\sum_i \Bigl(S_a(l,u;y_i)-S_a(\hat l_i,\hat u_i;y_i)\Bigr)`,
	"interval_score_unc":             `R=\frac1N\sum_i S_a(l,u;y_i)=\min_{l',u'} \frac1N\sum_i S_a(l',u';y_i)`,
	"energy_score":                   `\frac1N\sum_i \Bigl(\frac1M\sum_k \| x_{ik}-y_i\|-\frac1{M^2}\sum_{k<l} \| x_{ik}-x_{il}\|\Bigr)`,
	"energy_score_fair":              `\frac1N\sum_i \Bigl(\frac1M\sum_k \| x_{ik}-y_i\|-\frac1{M(M-1)}\sum_{k<l} \| x_{ik}-x_{il}\|\Bigr)`,
	"variogram_score":                `\frac1N\sum_i \sum_{a,b} w_{ab}\Bigl(|y_{ia}-y_{ib}|^p-\frac1M\sum_k |x_{ika}-x_{ikb}|^p\Bigr)^2`,
	"dawid_sebastiani":               `\frac1N\sum_i \Bigl(\ln|S_i|+(y_i-m_i)' S_i^{-1} (y_i-m_i)\Bigr)`,
	"multivariate_rank_p":            `P\Bigl(\chi^2_G \ge N\sum_g \frac{(f_g-q_g)^2}{q_g}\Bigr)`,
	"twcrps":                         `\frac1N\sum_i \int_a^b \bigl(F_i(x)-1[x\ge y_i]\bigr)^2\,dx`,
	"qwcrps":                         `\frac1N\sum_i 2\int_0^1 (2p-1)^2\,\bigl(1[y_i<q_{ip}]-p\bigr)(q_{ip}-y_i)\,dp`,
	"interval_score":                 `\frac1N\sum_i \Bigl(u_i-l_i+\frac2a\max(0,\,l_i-y_i,\,y_i-u_i)\Bigr),\qquad a=1-L`,
	"pinball":                        `\frac1N\sum_i \bigl([y_i<q_i(\tau)]-\tau\bigr)\bigl(q_i(\tau)-y_i\bigr)`,
	"rmse":                           `\sqrt{\frac1N\sum_i (y_i-\mu_i)^2}`,
	"mae":                            `\frac1N\sum_i |y_i-\mu_i|`,
	"ae_median":                      `\frac1N\sum_i |y_i-m_i|`,

	"coverage":            `\frac1N\sum_i \Bigl[q_i\Bigl(\frac{1-L}2\Bigr)\le y_i\le q_i\Bigl(\frac{1+L}2\Bigr)\Bigr]`,
	"coverage_50":         `\frac1N\sum_i \bigl[q_i(0.25)\le y_i\le q_i(0.75)\bigr]`,
	"coverage_90":         `\frac1N\sum_i \bigl[q_i(0.05)\le y_i\le q_i(0.95)\bigr]`,
	"width":               `\frac1N\sum_i \Bigl(q_i\Bigl(\frac{1+L}2\Bigr)-q_i\Bigl(\frac{1-L}2\Bigr)\Bigr)`,
	"width_50":            `\frac1N\sum_i \bigl(q_i(0.75)-q_i(0.25)\bigr)`,
	"width_90":            `\frac1N\sum_i \bigl(q_i(0.95)-q_i(0.05)\bigr)`,
	"sharpness":           `\frac1N\sum_i \sigma_i^2`,
	"sharpness_root":      `\sqrt{\frac1N\sum_i \sigma_i^2}`,
	"zms":                 `\frac1N\sum_i \Bigl(\frac{y_i-\mu_i}{\sigma_i}\Bigr)^2`,
	"rce":                 `\frac{\mathrm{RMV}-\mathrm{RMSE}}{\mathrm{RMV}},\qquad \mathrm{RMV}=\sqrt{\frac1N\sum_i \sigma_i^2},\qquad \mathrm{RMSE}=\sqrt{\frac1N\sum_i (y_i-\mu_i)^2}`,
	"sigma_scale":         `\sqrt{\frac1N\sum_i \Bigl(\frac{y_i-\mu_i}{\sigma_i}\Bigr)^2}`,
	"ence":                `\frac1B\sum_b \frac{|\mathrm{RMV}_b-\mathrm{RMSE}_b|}{\mathrm{RMV}_b}`,
	"uce":                 `\sum_b \frac{n_b}N\bigl|\mathrm{RMV}_b^2-\mathrm{RMSE}_b^2\bigr|`,
	"miscalibration_area": `\int_0^1 |C(\tau)-\tau|\,d\tau,\qquad C(\tau)=\frac1N\sum_i [y_i\le q_i(\tau)]`,
	"quantile_mse":        `\frac1J\sum_j \bigl(C(\tau_j)-\tau_j\bigr)^2,\qquad C(\tau)=\frac1N\sum_i [y_i\le q_i(\tau)]`,
	"rms_calibration":     `\sqrt{\frac1{B+1}\sum_{j=0}^B \Bigl(\frac1N\sum_i \Bigl[\bigl|F_i(y_i)-\frac12\bigr|\le\frac j{2B}\Bigr]-\frac jB\Bigr)^2}`,
	"pit_p":               `P\Bigl(\chi^2_{B-1}\ge\sum_{b=1}^B \frac{(n_b-N/B)^2}{N/B}\Bigr),\qquad n_b=\#\Bigl\{i:F_i(y_i)\in\Bigl[\frac{b-1}B,\frac bB\Bigr)\Bigr\}`,
	"rank_p":              `P\Bigl(\chi^2_M\ge\sum_{r=0}^M \frac{\bigl(n_r-N/(M+1)\bigr)^2}{N/(M+1)}\Bigr),\qquad n_r=\#\{i:\mathrm{rank}_i=r\}`,

	"lppd":               `\frac1N\sum_i \ln\frac1M\sum_m e^{l_{im}}`,
	"nwaic1":             `\frac1N\sum_i \Bigl(\ln\frac1M\sum_m e^{l_{im}}-V_i\Bigr)`,
	"nwaic2":             `\frac1N\sum_i \Bigl(\frac2M\sum_m l_{im}-\ln\frac1M\sum_m e^{l_{im}}\Bigr)`,
	"iscv":               `\frac1N\sum_i -\ln\frac1M\sum_m e^{-l_{im}}`,
	"psis_loo":           `\frac1N\sum_i \ln\frac{\sum_m w_{im}\,e^{l_{im}}}{\sum_m w_{im}}`,
	"p_waic":             `\sum_i V_i`,
	"p_loo":              `N\,(\mathrm{lppd}-\mathrm{psis\_loo})`,
	"high_variance_rows": `\#\{i:V_i>0.4\}`,
	"pareto_k_max":       `\max_i k_i`,

	"temperature":              `T=\arg\min_{T>0} \frac1N\sum_i -\ln\mathrm{softmax}\Bigl(\frac{z_i}T\Bigr)_{y_i}`,
	"nll_temperature_scaled":   `\mathrm{nll},` + scaledTeX,
	"brier_temperature_scaled": `\mathrm{brier},` + scaledTeX,
	"ece_temperature_scaled":   `\mathrm{ece},` + scaledTeX,

	"grouping_loss":                   `\mathrm{grouping\_loss\_explained}-\mathrm{grouping\_loss\_induced}`,
	"grouping_loss_explained":         `\frac1N\Bigl(\sum_{b,r}\frac{Y_{br}(Y_{br}-1)}{n_{br}-1}-\sum_b\frac{Y_b(Y_b-1)}{n_b-1}\Bigr),\qquad Y=\sum y`,
	"grouping_loss_induced":           `\frac1N\sum_b\Bigl(a_b^2\sum_{i\in b}(p_i-\bar p_b)^2-s_b^2\Bigr),\qquad a_b\text{ the slope of }y\text{ on }p\text{ in bin }b,\qquad s_b^2\text{ its residual variance}`,
	"multicalibration_error":          sigmaTeX + `\cdot\frac{\sqrt{\sum_i p_i(1-p_i)}}N,\qquad V_s=\mathrm{kuiper}\text{ of segment }s`,
	"multicalibration_error_relative": `\frac{100\cdot\mathrm{multicalibration\_error}}{\min(\bar y,\,1-\bar y)}`,
	"multicalibration_error_sigma":    `\sigma=` + sigmaTeX + `,\qquad V_s=\mathrm{kuiper}\text{ of segment }s`,
	"multicalibration_error_p":        `P\Bigl(\max_{0\le t\le 1} B_t-\min_{0\le t\le 1} B_t\ge\sigma\Bigr)`,
	"multicalibration_gap":            `\max_{c} \frac{\bigl|\sum_{i\in c} (y_i-p_i)\bigr|}{\sqrt{\sum_{i\in c} p_i(1-p_i)}},\qquad \sum_{i\in c} p_i(1-p_i)\ge 10`,
	"multicalibration_gap_p":          `\frac{1+\#\{\text{draws at least as large}\}}{1+\text{draws}}`,
}
