// Every instruction that stands as a word, for the tests of decoders.

TEXT ·samples(SB), NOSPLIT, $0-0
	WORD $0x4e22d420 // fadd v0.4s, v1.4s, v2.4s
	WORD $0x4e3dd7df // fadd v31.4s, v30.4s, v29.4s
	WORD $0x4e3fd410 // fadd v16.4s, v0.4s, v31.4s
	WORD $0x4e2ad6aa // fadd v10.4s, v21.4s, v10.4s
	WORD $0x4e62d420 // fadd v0.2d, v1.2d, v2.2d
	WORD $0x4e7dd7df // fadd v31.2d, v30.2d, v29.2d
	WORD $0x4e7fd410 // fadd v16.2d, v0.2d, v31.2d
	WORD $0x4e6ad6aa // fadd v10.2d, v21.2d, v10.2d
	WORD $0x4ea2d420 // fsub v0.4s, v1.4s, v2.4s
	WORD $0x4ebdd7df // fsub v31.4s, v30.4s, v29.4s
	WORD $0x4ebfd410 // fsub v16.4s, v0.4s, v31.4s
	WORD $0x4eaad6aa // fsub v10.4s, v21.4s, v10.4s
	WORD $0x4ee2d420 // fsub v0.2d, v1.2d, v2.2d
	WORD $0x4efdd7df // fsub v31.2d, v30.2d, v29.2d
	WORD $0x4effd410 // fsub v16.2d, v0.2d, v31.2d
	WORD $0x4eead6aa // fsub v10.2d, v21.2d, v10.2d
	WORD $0x6e22dc20 // fmul v0.4s, v1.4s, v2.4s
	WORD $0x6e3ddfdf // fmul v31.4s, v30.4s, v29.4s
	WORD $0x6e3fdc10 // fmul v16.4s, v0.4s, v31.4s
	WORD $0x6e2adeaa // fmul v10.4s, v21.4s, v10.4s
	WORD $0x6e62dc20 // fmul v0.2d, v1.2d, v2.2d
	WORD $0x6e7ddfdf // fmul v31.2d, v30.2d, v29.2d
	WORD $0x6e7fdc10 // fmul v16.2d, v0.2d, v31.2d
	WORD $0x6e6adeaa // fmul v10.2d, v21.2d, v10.2d
	WORD $0x6e22fc20 // fdiv v0.4s, v1.4s, v2.4s
	WORD $0x6e3dffdf // fdiv v31.4s, v30.4s, v29.4s
	WORD $0x6e3ffc10 // fdiv v16.4s, v0.4s, v31.4s
	WORD $0x6e2afeaa // fdiv v10.4s, v21.4s, v10.4s
	WORD $0x6e62fc20 // fdiv v0.2d, v1.2d, v2.2d
	WORD $0x6e7dffdf // fdiv v31.2d, v30.2d, v29.2d
	WORD $0x6e7ffc10 // fdiv v16.2d, v0.2d, v31.2d
	WORD $0x6e6afeaa // fdiv v10.2d, v21.2d, v10.2d
	WORD $0x4e22f420 // fmax v0.4s, v1.4s, v2.4s
	WORD $0x4e3df7df // fmax v31.4s, v30.4s, v29.4s
	WORD $0x4e3ff410 // fmax v16.4s, v0.4s, v31.4s
	WORD $0x4e2af6aa // fmax v10.4s, v21.4s, v10.4s
	WORD $0x4e62f420 // fmax v0.2d, v1.2d, v2.2d
	WORD $0x4e7df7df // fmax v31.2d, v30.2d, v29.2d
	WORD $0x4e7ff410 // fmax v16.2d, v0.2d, v31.2d
	WORD $0x4e6af6aa // fmax v10.2d, v21.2d, v10.2d
	WORD $0x4ea2f420 // fmin v0.4s, v1.4s, v2.4s
	WORD $0x4ebdf7df // fmin v31.4s, v30.4s, v29.4s
	WORD $0x4ebff410 // fmin v16.4s, v0.4s, v31.4s
	WORD $0x4eaaf6aa // fmin v10.4s, v21.4s, v10.4s
	WORD $0x4ee2f420 // fmin v0.2d, v1.2d, v2.2d
	WORD $0x4efdf7df // fmin v31.2d, v30.2d, v29.2d
	WORD $0x4efff410 // fmin v16.2d, v0.2d, v31.2d
	WORD $0x4eeaf6aa // fmin v10.2d, v21.2d, v10.2d
	WORD $0x4e22e420 // fcmeq v0.4s, v1.4s, v2.4s
	WORD $0x4e3de7df // fcmeq v31.4s, v30.4s, v29.4s
	WORD $0x4e3fe410 // fcmeq v16.4s, v0.4s, v31.4s
	WORD $0x4e2ae6aa // fcmeq v10.4s, v21.4s, v10.4s
	WORD $0x4e62e420 // fcmeq v0.2d, v1.2d, v2.2d
	WORD $0x4e7de7df // fcmeq v31.2d, v30.2d, v29.2d
	WORD $0x4e7fe410 // fcmeq v16.2d, v0.2d, v31.2d
	WORD $0x4e6ae6aa // fcmeq v10.2d, v21.2d, v10.2d
	WORD $0x6e22e420 // fcmge v0.4s, v1.4s, v2.4s
	WORD $0x6e3de7df // fcmge v31.4s, v30.4s, v29.4s
	WORD $0x6e3fe410 // fcmge v16.4s, v0.4s, v31.4s
	WORD $0x6e2ae6aa // fcmge v10.4s, v21.4s, v10.4s
	WORD $0x6e62e420 // fcmge v0.2d, v1.2d, v2.2d
	WORD $0x6e7de7df // fcmge v31.2d, v30.2d, v29.2d
	WORD $0x6e7fe410 // fcmge v16.2d, v0.2d, v31.2d
	WORD $0x6e6ae6aa // fcmge v10.2d, v21.2d, v10.2d
	WORD $0x6ea2e420 // fcmgt v0.4s, v1.4s, v2.4s
	WORD $0x6ebde7df // fcmgt v31.4s, v30.4s, v29.4s
	WORD $0x6ebfe410 // fcmgt v16.4s, v0.4s, v31.4s
	WORD $0x6eaae6aa // fcmgt v10.4s, v21.4s, v10.4s
	WORD $0x6ee2e420 // fcmgt v0.2d, v1.2d, v2.2d
	WORD $0x6efde7df // fcmgt v31.2d, v30.2d, v29.2d
	WORD $0x6effe410 // fcmgt v16.2d, v0.2d, v31.2d
	WORD $0x6eeae6aa // fcmgt v10.2d, v21.2d, v10.2d
	WORD $0x4ea18820 // frintp v0.4s, v1.4s
	WORD $0x4ea18bdf // frintp v31.4s, v30.4s
	WORD $0x4ea18810 // frintp v16.4s, v0.4s
	WORD $0x4ea18aaa // frintp v10.4s, v21.4s
	WORD $0x4ee18820 // frintp v0.2d, v1.2d
	WORD $0x4ee18bdf // frintp v31.2d, v30.2d
	WORD $0x4ee18810 // frintp v16.2d, v0.2d
	WORD $0x4ee18aaa // frintp v10.2d, v21.2d
	WORD $0x4e219820 // frintm v0.4s, v1.4s
	WORD $0x4e219bdf // frintm v31.4s, v30.4s
	WORD $0x4e219810 // frintm v16.4s, v0.4s
	WORD $0x4e219aaa // frintm v10.4s, v21.4s
	WORD $0x4e619820 // frintm v0.2d, v1.2d
	WORD $0x4e619bdf // frintm v31.2d, v30.2d
	WORD $0x4e619810 // frintm v16.2d, v0.2d
	WORD $0x4e619aaa // frintm v10.2d, v21.2d
	WORD $0x4e21d820 // scvtf v0.4s, v1.4s
	WORD $0x4e21dbdf // scvtf v31.4s, v30.4s
	WORD $0x4e21d810 // scvtf v16.4s, v0.4s
	WORD $0x4e21daaa // scvtf v10.4s, v21.4s
	WORD $0x0e217820 // fcvtl v0.4s, v1.4h
	WORD $0x0e217bdf // fcvtl v31.4s, v30.4h
	WORD $0x0e217810 // fcvtl v16.4s, v0.4h
	WORD $0x0e217aaa // fcvtl v10.4s, v21.4h
	WORD $0x0e617820 // fcvtl v0.2d, v1.2s
	WORD $0x0e617bdf // fcvtl v31.2d, v30.2s
	WORD $0x0e617810 // fcvtl v16.2d, v0.2s
	WORD $0x0e617aaa // fcvtl v10.2d, v21.2s
	WORD $0x4e617820 // fcvtl2 v0.2d, v1.4s
	WORD $0x4e617bdf // fcvtl2 v31.2d, v30.4s
	WORD $0x4e617810 // fcvtl2 v16.2d, v0.4s
	WORD $0x4e617aaa // fcvtl2 v10.2d, v21.4s
	WORD $0x0e616820 // fcvtn v0.2s, v1.2d
	WORD $0x0e616bdf // fcvtn v31.2s, v30.2d
	WORD $0x0e616810 // fcvtn v16.2s, v0.2d
	WORD $0x0e616aaa // fcvtn v10.2s, v21.2d
	WORD $0x4e616820 // fcvtn2 v0.4s, v1.2d
	WORD $0x4e616bdf // fcvtn2 v31.4s, v30.2d
	WORD $0x4e616810 // fcvtn2 v16.4s, v0.2d
	WORD $0x4e616aaa // fcvtn2 v10.4s, v21.2d
	WORD $0x4ea29c20 // mul v0.4s, v1.4s, v2.4s
	WORD $0x4ebd9fdf // mul v31.4s, v30.4s, v29.4s
	WORD $0x4ebf9c10 // mul v16.4s, v0.4s, v31.4s
	WORD $0x4eaa9eaa // mul v10.4s, v21.4s, v10.4s
	WORD $0x4ea23c20 // cmge v0.4s, v1.4s, v2.4s
	WORD $0x4ebd3fdf // cmge v31.4s, v30.4s, v29.4s
	WORD $0x4ebf3c10 // cmge v16.4s, v0.4s, v31.4s
	WORD $0x4eaa3eaa // cmge v10.4s, v21.4s, v10.4s
	WORD $0x4ee23c20 // cmge v0.2d, v1.2d, v2.2d
	WORD $0x4efd3fdf // cmge v31.2d, v30.2d, v29.2d
	WORD $0x4eff3c10 // cmge v16.2d, v0.2d, v31.2d
	WORD $0x4eea3eaa // cmge v10.2d, v21.2d, v10.2d
	WORD $0x4ea23420 // cmgt v0.4s, v1.4s, v2.4s
	WORD $0x4ebd37df // cmgt v31.4s, v30.4s, v29.4s
	WORD $0x4ebf3410 // cmgt v16.4s, v0.4s, v31.4s
	WORD $0x4eaa36aa // cmgt v10.4s, v21.4s, v10.4s
	WORD $0x4ee23420 // cmgt v0.2d, v1.2d, v2.2d
	WORD $0x4efd37df // cmgt v31.2d, v30.2d, v29.2d
	WORD $0x4eff3410 // cmgt v16.2d, v0.2d, v31.2d
	WORD $0x4eea36aa // cmgt v10.2d, v21.2d, v10.2d
	WORD $0x6ea23420 // cmhi v0.4s, v1.4s, v2.4s
	WORD $0x6ebd37df // cmhi v31.4s, v30.4s, v29.4s
	WORD $0x6ebf3410 // cmhi v16.4s, v0.4s, v31.4s
	WORD $0x6eaa36aa // cmhi v10.4s, v21.4s, v10.4s
	WORD $0x6ee23420 // cmhi v0.2d, v1.2d, v2.2d
	WORD $0x6efd37df // cmhi v31.2d, v30.2d, v29.2d
	WORD $0x6eff3410 // cmhi v16.2d, v0.2d, v31.2d
	WORD $0x6eea36aa // cmhi v10.2d, v21.2d, v10.2d
	WORD $0x4ea26420 // smax v0.4s, v1.4s, v2.4s
	WORD $0x4ebd67df // smax v31.4s, v30.4s, v29.4s
	WORD $0x4ebf6410 // smax v16.4s, v0.4s, v31.4s
	WORD $0x4eaa66aa // smax v10.4s, v21.4s, v10.4s
	WORD $0x4ea26c20 // smin v0.4s, v1.4s, v2.4s
	WORD $0x4ebd6fdf // smin v31.4s, v30.4s, v29.4s
	WORD $0x4ebf6c10 // smin v16.4s, v0.4s, v31.4s
	WORD $0x4eaa6eaa // smin v10.4s, v21.4s, v10.4s
	WORD $0x6ea2a420 // umaxp v0.4s, v1.4s, v2.4s
	WORD $0x6ebda7df // umaxp v31.4s, v30.4s, v29.4s
	WORD $0x6ebfa410 // umaxp v16.4s, v0.4s, v31.4s
	WORD $0x6eaaa6aa // umaxp v10.4s, v21.4s, v10.4s
	WORD $0x6e202820 // uaddlp v0.8h, v1.16b
	WORD $0x6e202bdf // uaddlp v31.8h, v30.16b
	WORD $0x6e202810 // uaddlp v16.8h, v0.16b
	WORD $0x6e202aaa // uaddlp v10.8h, v21.16b
	WORD $0x6e602820 // uaddlp v0.4s, v1.8h
	WORD $0x6e602bdf // uaddlp v31.4s, v30.8h
	WORD $0x6e602810 // uaddlp v16.4s, v0.8h
	WORD $0x6e602aaa // uaddlp v10.4s, v21.8h
	WORD $0x6ea02820 // uaddlp v0.2d, v1.4s
	WORD $0x6ea02bdf // uaddlp v31.2d, v30.4s
	WORD $0x6ea02810 // uaddlp v16.2d, v0.4s
	WORD $0x6ea02aaa // uaddlp v10.2d, v21.4s
	WORD $0x4f3f0420 // sshr v0.4s, v1.4s, #1
	WORD $0x4f390420 // sshr v0.4s, v1.4s, #7
	WORD $0x4f290420 // sshr v0.4s, v1.4s, #23
	WORD $0x4f210420 // sshr v0.4s, v1.4s, #31
	WORD $0x4f3f07df // sshr v31.4s, v30.4s, #1
	WORD $0x4f3907df // sshr v31.4s, v30.4s, #7
	WORD $0x4f2907df // sshr v31.4s, v30.4s, #23
	WORD $0x4f2107df // sshr v31.4s, v30.4s, #31
	WORD $0x4f3f0410 // sshr v16.4s, v0.4s, #1
	WORD $0x4f390410 // sshr v16.4s, v0.4s, #7
	WORD $0x4f290410 // sshr v16.4s, v0.4s, #23
	WORD $0x4f210410 // sshr v16.4s, v0.4s, #31
	WORD $0x4f3f06aa // sshr v10.4s, v21.4s, #1
	WORD $0x4f3906aa // sshr v10.4s, v21.4s, #7
	WORD $0x4f2906aa // sshr v10.4s, v21.4s, #23
	WORD $0x4f2106aa // sshr v10.4s, v21.4s, #31
	WORD $0x2e613820 // shll v0.4s, v1.4h, #16
	WORD $0x2e613bdf // shll v31.4s, v30.4h, #16
	WORD $0x2e613810 // shll v16.4s, v0.4h, #16
	WORD $0x2e613aaa // shll v10.4s, v21.4h, #16
	WORD $0x0f20a420 // sxtl v0.2d, v1.2s
	WORD $0x0f20a7df // sxtl v31.2d, v30.2s
	WORD $0x0f20a410 // sxtl v16.2d, v0.2s
	WORD $0x0f20a6aa // sxtl v10.2d, v21.2s
	WORD $0x4f20a420 // sxtl2 v0.2d, v1.4s
	WORD $0x4f20a7df // sxtl2 v31.2d, v30.4s
	WORD $0x4f20a410 // sxtl2 v16.2d, v0.4s
	WORD $0x4f20a6aa // sxtl2 v10.2d, v21.4s
	WORD $0x2f08a420 // uxtl v0.8h, v1.8b
	WORD $0x2f08a7df // uxtl v31.8h, v30.8b
	WORD $0x2f08a410 // uxtl v16.8h, v0.8b
	WORD $0x2f08a6aa // uxtl v10.8h, v21.8b
	WORD $0x2f10a420 // uxtl v0.4s, v1.4h
	WORD $0x2f10a7df // uxtl v31.4s, v30.4h
	WORD $0x2f10a410 // uxtl v16.4s, v0.4h
	WORD $0x2f10a6aa // uxtl v10.4s, v21.4h
	WORD $0x2f20a420 // uxtl v0.2d, v1.2s
	WORD $0x2f20a7df // uxtl v31.2d, v30.2s
	WORD $0x2f20a410 // uxtl v16.2d, v0.2s
	WORD $0x2f20a6aa // uxtl v10.2d, v21.2s
	WORD $0x0e214820 // sqxtn v0.8b, v1.8h
	WORD $0x0e214bdf // sqxtn v31.8b, v30.8h
	WORD $0x0e214810 // sqxtn v16.8b, v0.8h
	WORD $0x0e214aaa // sqxtn v10.8b, v21.8h
	WORD $0x0e614820 // sqxtn v0.4h, v1.4s
	WORD $0x0e614bdf // sqxtn v31.4h, v30.4s
	WORD $0x0e614810 // sqxtn v16.4h, v0.4s
	WORD $0x0e614aaa // sqxtn v10.4h, v21.4s
	WORD $0x4e214820 // sqxtn2 v0.16b, v1.8h
	WORD $0x4e214bdf // sqxtn2 v31.16b, v30.8h
	WORD $0x4e214810 // sqxtn2 v16.16b, v0.8h
	WORD $0x4e214aaa // sqxtn2 v10.16b, v21.8h
	WORD $0x4e614820 // sqxtn2 v0.8h, v1.4s
	WORD $0x4e614bdf // sqxtn2 v31.8h, v30.4s
	WORD $0x4e614810 // sqxtn2 v16.8h, v0.4s
	WORD $0x4e614aaa // sqxtn2 v10.8h, v21.4s
	WORD $0x4e621c20 // bic v0.16b, v1.16b, v2.16b
	WORD $0x4e7d1fdf // bic v31.16b, v30.16b, v29.16b
	WORD $0x4e7f1c10 // bic v16.16b, v0.16b, v31.16b
	WORD $0x4e6a1eaa // bic v10.16b, v21.16b, v10.16b
	WORD $0x6e205820 // mvn v0.16b, v1.16b
	WORD $0x6e205bdf // mvn v31.16b, v30.16b
	WORD $0x6e205810 // mvn v16.16b, v0.16b
	WORD $0x6e205aaa // mvn v10.16b, v21.16b
	RET
