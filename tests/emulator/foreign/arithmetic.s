	.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
	.amdhsa_code_object_version 6
	.text
	.protected	integer_division        ; -- Begin function integer_division
	.globl	integer_division
	.p2align	8
	.type	integer_division,@function
integer_division:                       ; @integer_division
; %bb.0:
	s_load_dwordx2 s[4:5], s[0:1], 0x10
	v_lshl_or_b32 v0, s2, 8, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[2:3], 2, v[0:1]
	s_load_dwordx4 s[0:3], s[0:1], 0x0
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[4:5], s[4:5], 0, v[2:3]
	global_load_dword v8, v[4:5], off
	v_lshlrev_b32_e32 v0, 2, v0
	v_lshl_add_u64 v[2:3], s[2:3], 0, v[2:3]
	global_load_dword v9, v[2:3], off
	v_mov_b32_e32 v6, s0
	v_mov_b32_e32 v7, s1
	s_waitcnt vmcnt(1)
	v_sub_u32_e32 v1, 0, v8
	v_max_i32_e32 v10, v1, v8
	v_cvt_f32_u32_e32 v11, v10
	v_sub_u32_e32 v12, 0, v10
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshl_add_u64 v[6:7], v[0:1], 2, v[6:7]
	v_rcp_iflag_f32_e32 v11, v11
	s_waitcnt vmcnt(0)
	v_sub_u32_e32 v1, 0, v9
	v_max_i32_e32 v1, v1, v9
	v_xor_b32_e32 v0, v9, v8
	v_mul_f32_e32 v11, 0x4f7ffffe, v11
	v_cvt_u32_f32_e32 v11, v11
	v_ashrrev_i32_e32 v0, 31, v0
	v_mul_lo_u32 v12, v12, v11
	v_mul_hi_u32 v12, v11, v12
	v_add_u32_e32 v11, v11, v12
	v_mul_hi_u32 v11, v1, v11
	v_mul_lo_u32 v12, v11, v10
	v_sub_u32_e32 v1, v1, v12
	v_add_u32_e32 v13, 1, v11
	v_cmp_ge_u32_e32 vcc, v1, v10
	v_sub_u32_e32 v12, v1, v10
	s_nop 0
	v_cndmask_b32_e32 v11, v11, v13, vcc
	v_cndmask_b32_e32 v1, v1, v12, vcc
	v_add_u32_e32 v12, 1, v11
	v_cmp_ge_u32_e32 vcc, v1, v10
	s_nop 1
	v_cndmask_b32_e32 v1, v11, v12, vcc
	v_xor_b32_e32 v1, v1, v0
	v_sub_u32_e32 v0, v1, v0
	global_store_dword v[6:7], v0, off
	global_load_dword v0, v[4:5], off
	s_nop 0
	global_load_dword v10, v[2:3], off
	v_cvt_f32_u32_e32 v1, v8
	v_sub_u32_e32 v2, 0, v8
	v_rcp_iflag_f32_e32 v1, v1
	s_nop 0
	v_mul_f32_e32 v1, 0x4f7ffffe, v1
	v_cvt_u32_f32_e32 v1, v1
	v_mul_lo_u32 v2, v2, v1
	v_mul_hi_u32 v2, v1, v2
	v_add_u32_e32 v1, v1, v2
	v_mul_hi_u32 v1, v9, v1
	v_mul_lo_u32 v2, v1, v8
	v_sub_u32_e32 v2, v9, v2
	v_add_u32_e32 v3, 1, v1
	v_cmp_ge_u32_e32 vcc, v2, v8
	v_sub_u32_e32 v4, v2, v8
	s_waitcnt vmcnt(0)
	v_sub_u32_e32 v5, 0, v10
	v_cndmask_b32_e32 v1, v1, v3, vcc
	v_sub_u32_e32 v3, 0, v0
	v_max_i32_e32 v0, v3, v0
	v_cvt_f32_u32_e32 v3, v0
	v_cndmask_b32_e32 v2, v2, v4, vcc
	v_add_u32_e32 v4, 1, v1
	v_cmp_ge_u32_e32 vcc, v2, v8
	v_rcp_iflag_f32_e32 v3, v3
	v_max_i32_e32 v5, v5, v10
	v_cndmask_b32_e32 v1, v1, v4, vcc
	v_mul_lo_u32 v2, v1, v8
	v_mul_f32_e32 v3, 0x4f7ffffe, v3
	v_cvt_u32_f32_e32 v3, v3
	v_sub_u32_e32 v8, 0, v0
	v_ashrrev_i32_e32 v4, 31, v10
	v_sub_u32_e32 v2, v9, v2
	v_mul_lo_u32 v8, v8, v3
	v_mul_hi_u32 v8, v3, v8
	v_add_u32_e32 v3, v3, v8
	v_mul_hi_u32 v3, v5, v3
	v_mul_lo_u32 v3, v3, v0
	v_sub_u32_e32 v3, v5, v3
	v_sub_u32_e32 v5, v3, v0
	v_cmp_ge_u32_e32 vcc, v3, v0
	s_nop 1
	v_cndmask_b32_e32 v3, v3, v5, vcc
	v_sub_u32_e32 v5, v3, v0
	v_cmp_ge_u32_e32 vcc, v3, v0
	s_nop 1
	v_cndmask_b32_e32 v0, v3, v5, vcc
	v_xor_b32_e32 v0, v0, v4
	v_sub_u32_e32 v0, v0, v4
	global_store_dwordx3 v[6:7], v[0:2], off offset:4
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel integer_division
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 14
		.amdhsa_next_free_sgpr 6
		.amdhsa_accum_offset 16
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	integer_division, .Lfunc_end0-integer_division
                                        ; -- End function
	.set integer_division.num_vgpr, 14
	.set integer_division.num_agpr, 0
	.set integer_division.numbered_sgpr, 6
	.set integer_division.num_named_barrier, 0
	.set integer_division.private_seg_size, 0
	.set integer_division.uses_vcc, 1
	.set integer_division.uses_flat_scratch, 0
	.set integer_division.has_dyn_sized_stack, 0
	.set integer_division.has_recursion, 0
	.set integer_division.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 520
; TotalNumSgprs: 12
; NumVgprs: 14
; NumAgprs: 0
; TotalNumVgprs: 14
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 1
; NumSGPRsForWavesPerEU: 12
; NumVGPRsForWavesPerEU: 14
; AccumOffset: 16
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 3
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_integer_division ; -- Begin function __clang_ocl_kern_imp_integer_division
	.globl	__clang_ocl_kern_imp_integer_division
	.p2align	2
	.type	__clang_ocl_kern_imp_integer_division,@function
__clang_ocl_kern_imp_integer_division:  ; @__clang_ocl_kern_imp_integer_division
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v6, 0x3ff, v31
	v_lshl_or_b32 v6, s12, 8, v6
	v_ashrrev_i32_e32 v7, 31, v6
	v_lshlrev_b64 v[8:9], 2, v[6:7]
	v_lshl_add_u64 v[4:5], v[4:5], 0, v[8:9]
	global_load_dword v10, v[4:5], off
	v_lshl_add_u64 v[2:3], v[2:3], 0, v[8:9]
	global_load_dword v8, v[2:3], off
	v_lshlrev_b32_e32 v6, 2, v6
	s_waitcnt vmcnt(1)
	v_sub_u32_e32 v7, 0, v10
	v_max_i32_e32 v9, v7, v10
	v_cvt_f32_u32_e32 v11, v9
	v_sub_u32_e32 v12, 0, v9
	v_ashrrev_i32_e32 v7, 31, v6
	v_lshl_add_u64 v[6:7], v[6:7], 2, v[0:1]
	v_rcp_iflag_f32_e32 v11, v11
	s_waitcnt vmcnt(0)
	v_sub_u32_e32 v1, 0, v8
	v_max_i32_e32 v1, v1, v8
	v_xor_b32_e32 v0, v8, v10
	v_mul_f32_e32 v11, 0x4f7ffffe, v11
	v_cvt_u32_f32_e32 v11, v11
	v_ashrrev_i32_e32 v0, 31, v0
	v_mul_lo_u32 v12, v12, v11
	v_mul_hi_u32 v12, v11, v12
	v_add_u32_e32 v11, v11, v12
	v_mul_hi_u32 v11, v1, v11
	v_mul_lo_u32 v12, v11, v9
	v_sub_u32_e32 v1, v1, v12
	v_add_u32_e32 v13, 1, v11
	v_cmp_ge_u32_e32 vcc, v1, v9
	v_sub_u32_e32 v12, v1, v9
	s_nop 0
	v_cndmask_b32_e32 v11, v11, v13, vcc
	v_cndmask_b32_e32 v1, v1, v12, vcc
	v_add_u32_e32 v12, 1, v11
	v_cmp_ge_u32_e32 vcc, v1, v9
	s_nop 1
	v_cndmask_b32_e32 v1, v11, v12, vcc
	v_xor_b32_e32 v1, v1, v0
	v_sub_u32_e32 v0, v1, v0
	global_store_dword v[6:7], v0, off
	global_load_dword v0, v[4:5], off
	s_nop 0
	global_load_dword v9, v[2:3], off
	v_cvt_f32_u32_e32 v1, v10
	v_sub_u32_e32 v2, 0, v10
	v_rcp_iflag_f32_e32 v1, v1
	s_nop 0
	v_mul_f32_e32 v1, 0x4f7ffffe, v1
	v_cvt_u32_f32_e32 v1, v1
	v_mul_lo_u32 v2, v2, v1
	v_mul_hi_u32 v2, v1, v2
	v_add_u32_e32 v1, v1, v2
	v_mul_hi_u32 v1, v8, v1
	v_mul_lo_u32 v2, v1, v10
	v_sub_u32_e32 v2, v8, v2
	v_add_u32_e32 v3, 1, v1
	v_cmp_ge_u32_e32 vcc, v2, v10
	v_sub_u32_e32 v4, v2, v10
	s_waitcnt vmcnt(0)
	v_sub_u32_e32 v5, 0, v9
	v_cndmask_b32_e32 v1, v1, v3, vcc
	v_sub_u32_e32 v3, 0, v0
	v_max_i32_e32 v0, v3, v0
	v_cvt_f32_u32_e32 v3, v0
	v_cndmask_b32_e32 v2, v2, v4, vcc
	v_add_u32_e32 v4, 1, v1
	v_cmp_ge_u32_e32 vcc, v2, v10
	v_rcp_iflag_f32_e32 v3, v3
	v_max_i32_e32 v5, v5, v9
	v_cndmask_b32_e32 v1, v1, v4, vcc
	v_ashrrev_i32_e32 v4, 31, v9
	v_mul_f32_e32 v3, 0x4f7ffffe, v3
	v_cvt_u32_f32_e32 v3, v3
	v_sub_u32_e32 v9, 0, v0
	v_mul_lo_u32 v2, v1, v10
	v_sub_u32_e32 v2, v8, v2
	v_mul_lo_u32 v9, v9, v3
	v_mul_hi_u32 v9, v3, v9
	v_add_u32_e32 v3, v3, v9
	v_mul_hi_u32 v3, v5, v3
	v_mul_lo_u32 v3, v3, v0
	v_sub_u32_e32 v3, v5, v3
	v_sub_u32_e32 v5, v3, v0
	v_cmp_ge_u32_e32 vcc, v3, v0
	s_nop 1
	v_cndmask_b32_e32 v3, v3, v5, vcc
	v_sub_u32_e32 v5, v3, v0
	v_cmp_ge_u32_e32 vcc, v3, v0
	s_nop 1
	v_cndmask_b32_e32 v0, v3, v5, vcc
	v_xor_b32_e32 v0, v0, v4
	v_sub_u32_e32 v0, v0, v4
	global_store_dwordx3 v[6:7], v[0:2], off offset:4
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end1:
	.size	__clang_ocl_kern_imp_integer_division, .Lfunc_end1-__clang_ocl_kern_imp_integer_division
                                        ; -- End function
	.set __clang_ocl_kern_imp_integer_division.num_vgpr, 32
	.set __clang_ocl_kern_imp_integer_division.num_agpr, 0
	.set __clang_ocl_kern_imp_integer_division.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_integer_division.num_named_barrier, 0
	.set __clang_ocl_kern_imp_integer_division.private_seg_size, 0
	.set __clang_ocl_kern_imp_integer_division.uses_vcc, 1
	.set __clang_ocl_kern_imp_integer_division.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_integer_division.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_integer_division.has_recursion, 0
	.set __clang_ocl_kern_imp_integer_division.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 508
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.protected	long_division           ; -- Begin function long_division
	.globl	long_division
	.p2align	8
	.type	long_division,@function
long_division:                          ; @long_division
; %bb.0:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	v_lshl_or_b32 v4, s2, 8, v0
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshlrev_b64 v[2:3], 3, v[4:5]
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[0:1], s[6:7], 0, v[2:3]
	v_lshl_add_u64 v[2:3], s[8:9], 0, v[2:3]
	global_load_dwordx2 v[6:7], v[0:1], off
	global_load_dwordx2 v[10:11], v[2:3], off
	v_mov_b32_e32 v8, 0
                                        ; implicit-def: $vgpr12_vgpr13
	s_waitcnt vmcnt(0)
	v_or_b32_e32 v9, v7, v11
	v_cmp_ne_u64_e32 vcc, 0, v[8:9]
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[2:3], exec, s[0:1]
	s_cbranch_execz .LBB2_2
; %bb.1:
	v_ashrrev_i32_e32 v12, 31, v11
	v_mov_b32_e32 v13, v12
	v_lshl_add_u64 v[10:11], v[10:11], 0, v[12:13]
	v_xor_b32_e32 v5, v11, v12
	v_xor_b32_e32 v13, v10, v12
	v_cvt_f32_u32_e32 v9, v13
	v_cvt_f32_u32_e32 v10, v5
	v_sub_co_u32_e32 v18, vcc, 0, v13
	v_mov_b32_e32 v17, v8
	v_fmamk_f32 v9, v10, 0x4f800000, v9
	v_rcp_f32_e32 v9, v9
	v_subb_co_u32_e32 v19, vcc, 0, v5, vcc
	v_mul_f32_e32 v9, 0x5f7ffffc, v9
	v_mul_f32_e32 v10, 0x2f800000, v9
	v_trunc_f32_e32 v10, v10
	v_fmamk_f32 v9, v10, 0xcf800000, v9
	v_cvt_u32_f32_e32 v9, v9
	v_cvt_u32_f32_e32 v20, v10
	v_mul_lo_u32 v14, v19, v9
	v_mad_u64_u32 v[10:11], s[0:1], v18, v9, 0
	v_mul_lo_u32 v15, v18, v20
	v_add3_u32 v11, v11, v15, v14
	v_mad_u64_u32 v[14:15], s[0:1], v9, v11, 0
	v_mul_hi_u32 v16, v9, v10
	v_lshl_add_u64 v[14:15], v[16:17], 0, v[14:15]
	v_mad_u64_u32 v[16:17], s[0:1], v20, v11, 0
	v_mad_u64_u32 v[10:11], s[0:1], v20, v10, 0
	v_add_co_u32_e32 v10, vcc, v14, v10
	s_nop 1
	v_addc_co_u32_e32 v10, vcc, v15, v11, vcc
	v_mov_b32_e32 v11, v8
	s_nop 0
	v_addc_co_u32_e32 v17, vcc, 0, v17, vcc
	v_lshl_add_u64 v[10:11], v[10:11], 0, v[16:17]
	v_add_co_u32_e32 v9, vcc, v9, v10
	v_mul_lo_u32 v15, v19, v9
	s_nop 0
	v_addc_co_u32_e32 v20, vcc, v20, v11, vcc
	v_mul_lo_u32 v14, v18, v20
	v_mad_u64_u32 v[10:11], s[0:1], v18, v9, 0
	v_add3_u32 v11, v11, v14, v15
	v_mad_u64_u32 v[14:15], s[0:1], v20, v11, 0
	v_mad_u64_u32 v[16:17], s[0:1], v20, v10, 0
	v_mad_u64_u32 v[18:19], s[0:1], v9, v11, 0
	v_mul_hi_u32 v10, v9, v10
	v_mov_b32_e32 v11, v8
	v_lshl_add_u64 v[10:11], v[10:11], 0, v[18:19]
	v_add_co_u32_e32 v10, vcc, v10, v16
	s_nop 1
	v_addc_co_u32_e32 v10, vcc, v11, v17, vcc
	v_mov_b32_e32 v11, v8
	s_nop 0
	v_addc_co_u32_e32 v15, vcc, 0, v15, vcc
	v_lshl_add_u64 v[10:11], v[10:11], 0, v[14:15]
	v_add_co_u32_e32 v9, vcc, v9, v10
	v_ashrrev_i32_e32 v10, 31, v7
	s_nop 0
	v_addc_co_u32_e32 v16, vcc, v20, v11, vcc
	v_mov_b32_e32 v11, v10
	v_lshl_add_u64 v[6:7], v[6:7], 0, v[10:11]
	v_xor_b32_e32 v18, v6, v10
	v_xor_b32_e32 v11, v7, v10
	v_mad_u64_u32 v[6:7], s[0:1], v18, v16, 0
	v_mul_hi_u32 v14, v18, v9
	v_mov_b32_e32 v15, v8
	v_lshl_add_u64 v[6:7], v[14:15], 0, v[6:7]
	v_mad_u64_u32 v[14:15], s[0:1], v11, v16, 0
	v_mad_u64_u32 v[16:17], s[0:1], v11, v9, 0
	v_add_co_u32_e32 v6, vcc, v6, v16
	s_nop 1
	v_addc_co_u32_e32 v6, vcc, v7, v17, vcc
	v_mov_b32_e32 v7, v8
	s_nop 0
	v_addc_co_u32_e32 v15, vcc, 0, v15, vcc
	v_lshl_add_u64 v[6:7], v[6:7], 0, v[14:15]
	v_mul_lo_u32 v14, v5, v6
	v_mul_lo_u32 v15, v13, v7
	v_mad_u64_u32 v[8:9], s[0:1], v13, v6, 0
	v_add3_u32 v16, v9, v15, v14
	v_sub_u32_e32 v9, v11, v16
	v_sub_co_u32_e32 v17, vcc, v18, v8
	s_nop 1
	v_subb_co_u32_e64 v8, s[0:1], v9, v5, vcc
	v_sub_co_u32_e64 v9, s[0:1], v17, v13
	v_subb_co_u32_e32 v11, vcc, v11, v16, vcc
	s_nop 0
	v_subbrev_co_u32_e64 v8, s[0:1], 0, v8, s[0:1]
	v_cmp_ge_u32_e64 s[0:1], v8, v5
	v_cmp_ge_u32_e32 vcc, v11, v5
	s_nop 0
	v_cndmask_b32_e64 v14, 0, -1, s[0:1]
	v_cmp_ge_u32_e64 s[0:1], v9, v13
	s_nop 1
	v_cndmask_b32_e64 v9, 0, -1, s[0:1]
	v_cmp_eq_u32_e64 s[0:1], v8, v5
	s_nop 1
	v_cndmask_b32_e64 v18, v14, v9, s[0:1]
	v_lshl_add_u64 v[8:9], v[6:7], 0, 2
	v_lshl_add_u64 v[14:15], v[6:7], 0, 1
	v_cmp_ne_u32_e64 s[0:1], 0, v18
	s_nop 1
	v_cndmask_b32_e64 v9, v15, v9, s[0:1]
	v_cndmask_b32_e64 v15, 0, -1, vcc
	v_cmp_ge_u32_e32 vcc, v17, v13
	s_nop 1
	v_cndmask_b32_e64 v13, 0, -1, vcc
	v_cmp_eq_u32_e32 vcc, v11, v5
	s_nop 1
	v_cndmask_b32_e32 v5, v15, v13, vcc
	v_cmp_ne_u32_e32 vcc, 0, v5
	s_nop 1
	v_cndmask_b32_e32 v5, v7, v9, vcc
	v_cndmask_b32_e64 v7, v14, v8, s[0:1]
	v_cndmask_b32_e32 v6, v6, v7, vcc
	v_xor_b32_e32 v7, v10, v12
	v_xor_b32_e32 v6, v6, v7
	v_xor_b32_e32 v5, v5, v7
	v_sub_co_u32_e32 v12, vcc, v6, v7
                                        ; implicit-def: $vgpr10_vgpr11
	s_nop 1
	v_subb_co_u32_e32 v13, vcc, v5, v7, vcc
                                        ; implicit-def: $vgpr6_vgpr7
.LBB2_2:
	s_andn2_saveexec_b64 s[0:1], s[2:3]
	s_cbranch_execz .LBB2_4
; %bb.3:
	v_cvt_f32_u32_e32 v5, v10
	v_sub_u32_e32 v7, 0, v10
	v_mov_b32_e32 v13, 0
	v_rcp_iflag_f32_e32 v5, v5
	s_nop 0
	v_mul_f32_e32 v5, 0x4f7ffffe, v5
	v_cvt_u32_f32_e32 v5, v5
	v_mul_lo_u32 v7, v7, v5
	v_mul_hi_u32 v7, v5, v7
	v_add_u32_e32 v5, v5, v7
	v_mul_hi_u32 v5, v6, v5
	v_mul_lo_u32 v7, v5, v10
	v_sub_u32_e32 v6, v6, v7
	v_add_u32_e32 v8, 1, v5
	v_sub_u32_e32 v7, v6, v10
	v_cmp_ge_u32_e32 vcc, v6, v10
	s_nop 1
	v_cndmask_b32_e32 v6, v6, v7, vcc
	v_cndmask_b32_e32 v5, v5, v8, vcc
	v_add_u32_e32 v7, 1, v5
	v_cmp_ge_u32_e32 vcc, v6, v10
	s_nop 1
	v_cndmask_b32_e32 v12, v5, v7, vcc
.LBB2_4:
	s_or_b64 exec, exec, s[0:1]
	v_lshl_add_u32 v4, v4, 1, v4
	v_mov_b32_e32 v6, s4
	v_mov_b32_e32 v7, s5
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshl_add_u64 v[4:5], v[4:5], 3, v[6:7]
	global_store_dwordx2 v[4:5], v[12:13], off
	global_load_dwordx2 v[8:9], v[0:1], off
	global_load_dwordx2 v[6:7], v[2:3], off
	v_mov_b32_e32 v10, 0
                                        ; implicit-def: $vgpr12_vgpr13
	s_waitcnt vmcnt(0)
	v_or_b32_e32 v11, v9, v7
	v_cmp_ne_u64_e32 vcc, 0, v[10:11]
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[4:5], exec, s[0:1]
	s_cbranch_execz .LBB2_6
; %bb.5:
	v_cvt_f32_u32_e32 v11, v6
	v_cvt_f32_u32_e32 v12, v7
	v_sub_co_u32_e32 v19, vcc, 0, v6
	v_mov_b32_e32 v17, v10
	v_fmamk_f32 v11, v12, 0x4f800000, v11
	v_rcp_f32_e32 v11, v11
	v_subb_co_u32_e32 v20, vcc, 0, v7, vcc
	v_mul_f32_e32 v11, 0x5f7ffffc, v11
	v_mul_f32_e32 v12, 0x2f800000, v11
	v_trunc_f32_e32 v12, v12
	v_fmamk_f32 v11, v12, 0xcf800000, v11
	v_cvt_u32_f32_e32 v18, v12
	v_cvt_u32_f32_e32 v11, v11
	v_mul_lo_u32 v14, v19, v18
	v_mul_lo_u32 v15, v20, v11
	v_mad_u64_u32 v[12:13], s[0:1], v19, v11, 0
	v_add3_u32 v13, v13, v14, v15
	v_mad_u64_u32 v[14:15], s[0:1], v11, v13, 0
	v_mul_hi_u32 v16, v11, v12
	v_lshl_add_u64 v[14:15], v[16:17], 0, v[14:15]
	v_mad_u64_u32 v[16:17], s[0:1], v18, v13, 0
	v_mad_u64_u32 v[12:13], s[0:1], v18, v12, 0
	v_add_co_u32_e32 v12, vcc, v14, v12
	s_nop 1
	v_addc_co_u32_e32 v12, vcc, v15, v13, vcc
	v_mov_b32_e32 v13, v10
	s_nop 0
	v_addc_co_u32_e32 v17, vcc, 0, v17, vcc
	v_lshl_add_u64 v[12:13], v[12:13], 0, v[16:17]
	v_add_co_u32_e32 v11, vcc, v11, v12
	v_mul_lo_u32 v15, v20, v11
	s_nop 0
	v_addc_co_u32_e32 v21, vcc, v18, v13, vcc
	v_mul_lo_u32 v14, v19, v21
	v_mad_u64_u32 v[12:13], s[0:1], v19, v11, 0
	v_add3_u32 v13, v13, v14, v15
	v_mad_u64_u32 v[14:15], s[0:1], v21, v13, 0
	v_mad_u64_u32 v[16:17], s[0:1], v21, v12, 0
	v_mad_u64_u32 v[18:19], s[0:1], v11, v13, 0
	v_mul_hi_u32 v12, v11, v12
	v_mov_b32_e32 v13, v10
	v_lshl_add_u64 v[12:13], v[12:13], 0, v[18:19]
	v_add_co_u32_e32 v12, vcc, v12, v16
	s_nop 1
	v_addc_co_u32_e32 v12, vcc, v13, v17, vcc
	v_mov_b32_e32 v13, v10
	s_nop 0
	v_addc_co_u32_e32 v15, vcc, 0, v15, vcc
	v_lshl_add_u64 v[12:13], v[12:13], 0, v[14:15]
	v_add_co_u32_e32 v11, vcc, v11, v12
	v_mul_hi_u32 v14, v8, v11
	s_nop 0
	v_addc_co_u32_e32 v16, vcc, v21, v13, vcc
	v_mad_u64_u32 v[12:13], s[0:1], v8, v16, 0
	v_mov_b32_e32 v15, v10
	v_lshl_add_u64 v[12:13], v[14:15], 0, v[12:13]
	v_mad_u64_u32 v[14:15], s[0:1], v9, v16, 0
	v_mad_u64_u32 v[16:17], s[0:1], v9, v11, 0
	v_add_co_u32_e32 v11, vcc, v12, v16
	s_nop 1
	v_addc_co_u32_e32 v12, vcc, v13, v17, vcc
	v_mov_b32_e32 v13, v10
	s_nop 0
	v_addc_co_u32_e32 v15, vcc, 0, v15, vcc
	v_lshl_add_u64 v[10:11], v[12:13], 0, v[14:15]
	v_mul_lo_u32 v12, v7, v10
	v_mul_lo_u32 v13, v6, v11
	v_mad_u64_u32 v[10:11], s[0:1], v6, v10, 0
	v_add3_u32 v11, v11, v13, v12
	v_sub_u32_e32 v12, v9, v11
	v_sub_co_u32_e32 v8, vcc, v8, v10
	s_nop 1
	v_subb_co_u32_e64 v10, s[0:1], v12, v7, vcc
	v_sub_co_u32_e64 v12, s[0:1], v8, v6
	v_subb_co_u32_e32 v9, vcc, v9, v11, vcc
	s_nop 0
	v_subbrev_co_u32_e64 v13, s[2:3], 0, v10, s[0:1]
	v_cmp_ge_u32_e64 s[2:3], v13, v7
	v_subb_co_u32_e64 v10, s[0:1], v10, v7, s[0:1]
	s_nop 0
	v_cndmask_b32_e64 v14, 0, -1, s[2:3]
	v_cmp_ge_u32_e64 s[2:3], v12, v6
	v_cmp_ge_u32_e32 vcc, v9, v7
	s_nop 0
	v_cndmask_b32_e64 v15, 0, -1, s[2:3]
	v_cmp_eq_u32_e64 s[2:3], v13, v7
	v_cndmask_b32_e64 v11, 0, -1, vcc
	v_cmp_ge_u32_e32 vcc, v8, v6
	v_cndmask_b32_e64 v14, v14, v15, s[2:3]
	v_sub_co_u32_e64 v15, s[0:1], v12, v6
	v_cndmask_b32_e64 v6, 0, -1, vcc
	s_nop 0
	v_subbrev_co_u32_e64 v10, s[0:1], 0, v10, s[0:1]
	v_cmp_eq_u32_e32 vcc, v9, v7
	v_cmp_ne_u32_e64 s[0:1], 0, v14
	s_nop 0
	v_cndmask_b32_e32 v6, v11, v6, vcc
	v_cndmask_b32_e64 v10, v13, v10, s[0:1]
	v_cmp_ne_u32_e32 vcc, 0, v6
	v_cndmask_b32_e64 v6, v12, v15, s[0:1]
	s_nop 0
	v_cndmask_b32_e32 v13, v9, v10, vcc
	v_cndmask_b32_e32 v12, v8, v6, vcc
                                        ; implicit-def: $vgpr6_vgpr7
                                        ; implicit-def: $vgpr8_vgpr9
.LBB2_6:
	s_andn2_saveexec_b64 s[0:1], s[4:5]
	s_cbranch_execz .LBB2_8
; %bb.7:
	v_cvt_f32_u32_e32 v7, v6
	v_sub_u32_e32 v9, 0, v6
	v_mov_b32_e32 v13, 0
	v_rcp_iflag_f32_e32 v7, v7
	s_nop 0
	v_mul_f32_e32 v7, 0x4f7ffffe, v7
	v_cvt_u32_f32_e32 v7, v7
	v_mul_lo_u32 v9, v9, v7
	v_mul_hi_u32 v9, v7, v9
	v_add_u32_e32 v7, v7, v9
	v_mul_hi_u32 v7, v8, v7
	v_mul_lo_u32 v7, v7, v6
	v_sub_u32_e32 v7, v8, v7
	v_sub_u32_e32 v8, v7, v6
	v_cmp_ge_u32_e32 vcc, v7, v6
	s_nop 1
	v_cndmask_b32_e32 v7, v7, v8, vcc
	v_sub_u32_e32 v8, v7, v6
	v_cmp_ge_u32_e32 vcc, v7, v6
	s_nop 1
	v_cndmask_b32_e32 v12, v7, v8, vcc
.LBB2_8:
	s_or_b64 exec, exec, s[0:1]
	global_store_dwordx2 v[4:5], v[12:13], off offset:8
	global_load_dwordx2 v[6:7], v[0:1], off
	global_load_dwordx2 v[8:9], v[2:3], off
	s_waitcnt vmcnt(0)
	v_mul_lo_u32 v2, v9, v6
	v_mul_lo_u32 v3, v8, v7
	v_mad_u64_u32 v[0:1], s[0:1], v8, v6, 0
	v_add3_u32 v1, v1, v3, v2
	global_store_dwordx2 v[4:5], v[0:1], off offset:16
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel long_division
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 22
		.amdhsa_next_free_sgpr 10
		.amdhsa_accum_offset 24
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end2:
	.size	long_division, .Lfunc_end2-long_division
                                        ; -- End function
	.set long_division.num_vgpr, 22
	.set long_division.num_agpr, 0
	.set long_division.numbered_sgpr, 10
	.set long_division.num_named_barrier, 0
	.set long_division.private_seg_size, 0
	.set long_division.uses_vcc, 1
	.set long_division.uses_flat_scratch, 0
	.set long_division.has_dyn_sized_stack, 0
	.set long_division.has_recursion, 0
	.set long_division.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 1796
; TotalNumSgprs: 16
; NumVgprs: 22
; NumAgprs: 0
; TotalNumVgprs: 22
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 2
; NumSGPRsForWavesPerEU: 16
; NumVGPRsForWavesPerEU: 22
; AccumOffset: 24
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 5
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_long_division ; -- Begin function __clang_ocl_kern_imp_long_division
	.globl	__clang_ocl_kern_imp_long_division
	.p2align	2
	.type	__clang_ocl_kern_imp_long_division,@function
__clang_ocl_kern_imp_long_division:     ; @__clang_ocl_kern_imp_long_division
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v6, 0x3ff, v31
	v_lshl_or_b32 v6, s12, 8, v6
	v_ashrrev_i32_e32 v7, 31, v6
	v_lshlrev_b64 v[10:11], 3, v[6:7]
	v_lshl_add_u64 v[2:3], v[2:3], 0, v[10:11]
	v_lshl_add_u64 v[4:5], v[4:5], 0, v[10:11]
	global_load_dwordx2 v[8:9], v[2:3], off
	global_load_dwordx2 v[12:13], v[4:5], off
	v_mov_b32_e32 v10, 0
                                        ; implicit-def: $vgpr14_vgpr15
	s_waitcnt vmcnt(0)
	v_or_b32_e32 v11, v9, v13
	v_cmp_ne_u64_e32 vcc, 0, v[10:11]
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[2:3], exec, s[0:1]
	s_cbranch_execz .LBB3_2
; %bb.1:
	v_ashrrev_i32_e32 v14, 31, v13
	v_mov_b32_e32 v15, v14
	v_lshl_add_u64 v[12:13], v[12:13], 0, v[14:15]
	v_xor_b32_e32 v7, v13, v14
	v_xor_b32_e32 v15, v12, v14
	v_cvt_f32_u32_e32 v11, v15
	v_cvt_f32_u32_e32 v12, v7
	v_sub_co_u32_e32 v20, vcc, 0, v15
	v_mov_b32_e32 v19, v10
	v_fmamk_f32 v11, v12, 0x4f800000, v11
	v_rcp_f32_e32 v11, v11
	v_subb_co_u32_e32 v21, vcc, 0, v7, vcc
	v_mul_f32_e32 v11, 0x5f7ffffc, v11
	v_mul_f32_e32 v12, 0x2f800000, v11
	v_trunc_f32_e32 v12, v12
	v_fmamk_f32 v11, v12, 0xcf800000, v11
	v_cvt_u32_f32_e32 v11, v11
	v_cvt_u32_f32_e32 v22, v12
	v_mul_lo_u32 v16, v21, v11
	v_mad_u64_u32 v[12:13], s[0:1], v20, v11, 0
	v_mul_lo_u32 v17, v20, v22
	v_add3_u32 v13, v13, v17, v16
	v_mad_u64_u32 v[16:17], s[0:1], v11, v13, 0
	v_mul_hi_u32 v18, v11, v12
	v_lshl_add_u64 v[16:17], v[18:19], 0, v[16:17]
	v_mad_u64_u32 v[18:19], s[0:1], v22, v13, 0
	v_mad_u64_u32 v[12:13], s[0:1], v22, v12, 0
	v_add_co_u32_e32 v12, vcc, v16, v12
	s_nop 1
	v_addc_co_u32_e32 v12, vcc, v17, v13, vcc
	v_mov_b32_e32 v13, v10
	s_nop 0
	v_addc_co_u32_e32 v19, vcc, 0, v19, vcc
	v_lshl_add_u64 v[12:13], v[12:13], 0, v[18:19]
	v_add_co_u32_e32 v11, vcc, v11, v12
	v_mul_lo_u32 v17, v21, v11
	s_nop 0
	v_addc_co_u32_e32 v22, vcc, v22, v13, vcc
	v_mul_lo_u32 v16, v20, v22
	v_mad_u64_u32 v[12:13], s[0:1], v20, v11, 0
	v_add3_u32 v13, v13, v16, v17
	v_mad_u64_u32 v[16:17], s[0:1], v22, v13, 0
	v_mad_u64_u32 v[18:19], s[0:1], v22, v12, 0
	v_mad_u64_u32 v[20:21], s[0:1], v11, v13, 0
	v_mul_hi_u32 v12, v11, v12
	v_mov_b32_e32 v13, v10
	v_lshl_add_u64 v[12:13], v[12:13], 0, v[20:21]
	v_add_co_u32_e32 v12, vcc, v12, v18
	s_nop 1
	v_addc_co_u32_e32 v12, vcc, v13, v19, vcc
	v_mov_b32_e32 v13, v10
	s_nop 0
	v_addc_co_u32_e32 v17, vcc, 0, v17, vcc
	v_lshl_add_u64 v[12:13], v[12:13], 0, v[16:17]
	v_add_co_u32_e32 v11, vcc, v11, v12
	v_ashrrev_i32_e32 v12, 31, v9
	s_nop 0
	v_addc_co_u32_e32 v18, vcc, v22, v13, vcc
	v_mov_b32_e32 v13, v12
	v_lshl_add_u64 v[8:9], v[8:9], 0, v[12:13]
	v_xor_b32_e32 v20, v8, v12
	v_xor_b32_e32 v13, v9, v12
	v_mad_u64_u32 v[8:9], s[0:1], v20, v18, 0
	v_mul_hi_u32 v16, v20, v11
	v_mov_b32_e32 v17, v10
	v_lshl_add_u64 v[8:9], v[16:17], 0, v[8:9]
	v_mad_u64_u32 v[16:17], s[0:1], v13, v18, 0
	v_mad_u64_u32 v[18:19], s[0:1], v13, v11, 0
	v_add_co_u32_e32 v8, vcc, v8, v18
	s_nop 1
	v_addc_co_u32_e32 v8, vcc, v9, v19, vcc
	v_mov_b32_e32 v9, v10
	s_nop 0
	v_addc_co_u32_e32 v17, vcc, 0, v17, vcc
	v_lshl_add_u64 v[8:9], v[8:9], 0, v[16:17]
	v_mul_lo_u32 v16, v7, v8
	v_mul_lo_u32 v17, v15, v9
	v_mad_u64_u32 v[10:11], s[0:1], v15, v8, 0
	v_add3_u32 v18, v11, v17, v16
	v_sub_u32_e32 v11, v13, v18
	v_sub_co_u32_e32 v19, vcc, v20, v10
	s_nop 1
	v_subb_co_u32_e64 v10, s[0:1], v11, v7, vcc
	v_sub_co_u32_e64 v11, s[0:1], v19, v15
	v_subb_co_u32_e32 v13, vcc, v13, v18, vcc
	s_nop 0
	v_subbrev_co_u32_e64 v10, s[0:1], 0, v10, s[0:1]
	v_cmp_ge_u32_e64 s[0:1], v10, v7
	v_cmp_ge_u32_e32 vcc, v13, v7
	s_nop 0
	v_cndmask_b32_e64 v16, 0, -1, s[0:1]
	v_cmp_ge_u32_e64 s[0:1], v11, v15
	s_nop 1
	v_cndmask_b32_e64 v11, 0, -1, s[0:1]
	v_cmp_eq_u32_e64 s[0:1], v10, v7
	s_nop 1
	v_cndmask_b32_e64 v20, v16, v11, s[0:1]
	v_lshl_add_u64 v[10:11], v[8:9], 0, 2
	v_lshl_add_u64 v[16:17], v[8:9], 0, 1
	v_cmp_ne_u32_e64 s[0:1], 0, v20
	s_nop 1
	v_cndmask_b32_e64 v11, v17, v11, s[0:1]
	v_cndmask_b32_e64 v17, 0, -1, vcc
	v_cmp_ge_u32_e32 vcc, v19, v15
	s_nop 1
	v_cndmask_b32_e64 v15, 0, -1, vcc
	v_cmp_eq_u32_e32 vcc, v13, v7
	s_nop 1
	v_cndmask_b32_e32 v7, v17, v15, vcc
	v_cmp_ne_u32_e32 vcc, 0, v7
	s_nop 1
	v_cndmask_b32_e32 v7, v9, v11, vcc
	v_cndmask_b32_e64 v9, v16, v10, s[0:1]
	v_cndmask_b32_e32 v8, v8, v9, vcc
	v_xor_b32_e32 v9, v12, v14
	v_xor_b32_e32 v8, v8, v9
	v_xor_b32_e32 v7, v7, v9
	v_sub_co_u32_e32 v14, vcc, v8, v9
                                        ; implicit-def: $vgpr12_vgpr13
	s_nop 1
	v_subb_co_u32_e32 v15, vcc, v7, v9, vcc
                                        ; implicit-def: $vgpr8_vgpr9
.LBB3_2:
	s_andn2_saveexec_b64 s[0:1], s[2:3]
	s_cbranch_execz .LBB3_4
; %bb.3:
	v_cvt_f32_u32_e32 v7, v12
	v_sub_u32_e32 v9, 0, v12
	v_mov_b32_e32 v15, 0
	v_rcp_iflag_f32_e32 v7, v7
	s_nop 0
	v_mul_f32_e32 v7, 0x4f7ffffe, v7
	v_cvt_u32_f32_e32 v7, v7
	v_mul_lo_u32 v9, v9, v7
	v_mul_hi_u32 v9, v7, v9
	v_add_u32_e32 v7, v7, v9
	v_mul_hi_u32 v7, v8, v7
	v_mul_lo_u32 v9, v7, v12
	v_sub_u32_e32 v8, v8, v9
	v_add_u32_e32 v10, 1, v7
	v_sub_u32_e32 v9, v8, v12
	v_cmp_ge_u32_e32 vcc, v8, v12
	s_nop 1
	v_cndmask_b32_e32 v8, v8, v9, vcc
	v_cndmask_b32_e32 v7, v7, v10, vcc
	v_add_u32_e32 v9, 1, v7
	v_cmp_ge_u32_e32 vcc, v8, v12
	s_nop 1
	v_cndmask_b32_e32 v14, v7, v9, vcc
.LBB3_4:
	s_or_b64 exec, exec, s[0:1]
	v_lshl_add_u32 v6, v6, 1, v6
	v_ashrrev_i32_e32 v7, 31, v6
	v_lshl_add_u64 v[0:1], v[6:7], 3, v[0:1]
	global_store_dwordx2 v[0:1], v[14:15], off
	global_load_dwordx2 v[8:9], v[2:3], off
	global_load_dwordx2 v[6:7], v[4:5], off
	v_mov_b32_e32 v10, 0
                                        ; implicit-def: $vgpr12_vgpr13
	s_waitcnt vmcnt(0)
	v_or_b32_e32 v11, v9, v7
	v_cmp_ne_u64_e32 vcc, 0, v[10:11]
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[4:5], exec, s[0:1]
	s_cbranch_execz .LBB3_6
; %bb.5:
	v_cvt_f32_u32_e32 v11, v6
	v_cvt_f32_u32_e32 v12, v7
	v_sub_co_u32_e32 v19, vcc, 0, v6
	v_mov_b32_e32 v17, v10
	v_fmamk_f32 v11, v12, 0x4f800000, v11
	v_rcp_f32_e32 v11, v11
	v_subb_co_u32_e32 v20, vcc, 0, v7, vcc
	v_mul_f32_e32 v11, 0x5f7ffffc, v11
	v_mul_f32_e32 v12, 0x2f800000, v11
	v_trunc_f32_e32 v12, v12
	v_fmamk_f32 v11, v12, 0xcf800000, v11
	v_cvt_u32_f32_e32 v18, v12
	v_cvt_u32_f32_e32 v11, v11
	v_mul_lo_u32 v14, v19, v18
	v_mul_lo_u32 v15, v20, v11
	v_mad_u64_u32 v[12:13], s[0:1], v19, v11, 0
	v_add3_u32 v13, v13, v14, v15
	v_mad_u64_u32 v[14:15], s[0:1], v11, v13, 0
	v_mul_hi_u32 v16, v11, v12
	v_lshl_add_u64 v[14:15], v[16:17], 0, v[14:15]
	v_mad_u64_u32 v[16:17], s[0:1], v18, v13, 0
	v_mad_u64_u32 v[12:13], s[0:1], v18, v12, 0
	v_add_co_u32_e32 v12, vcc, v14, v12
	s_nop 1
	v_addc_co_u32_e32 v12, vcc, v15, v13, vcc
	v_mov_b32_e32 v13, v10
	s_nop 0
	v_addc_co_u32_e32 v17, vcc, 0, v17, vcc
	v_lshl_add_u64 v[12:13], v[12:13], 0, v[16:17]
	v_add_co_u32_e32 v11, vcc, v11, v12
	v_mul_lo_u32 v15, v20, v11
	s_nop 0
	v_addc_co_u32_e32 v21, vcc, v18, v13, vcc
	v_mul_lo_u32 v14, v19, v21
	v_mad_u64_u32 v[12:13], s[0:1], v19, v11, 0
	v_add3_u32 v13, v13, v14, v15
	v_mad_u64_u32 v[14:15], s[0:1], v21, v13, 0
	v_mad_u64_u32 v[16:17], s[0:1], v21, v12, 0
	v_mad_u64_u32 v[18:19], s[0:1], v11, v13, 0
	v_mul_hi_u32 v12, v11, v12
	v_mov_b32_e32 v13, v10
	v_lshl_add_u64 v[12:13], v[12:13], 0, v[18:19]
	v_add_co_u32_e32 v12, vcc, v12, v16
	s_nop 1
	v_addc_co_u32_e32 v12, vcc, v13, v17, vcc
	v_mov_b32_e32 v13, v10
	s_nop 0
	v_addc_co_u32_e32 v15, vcc, 0, v15, vcc
	v_lshl_add_u64 v[12:13], v[12:13], 0, v[14:15]
	v_add_co_u32_e32 v11, vcc, v11, v12
	v_mul_hi_u32 v14, v8, v11
	s_nop 0
	v_addc_co_u32_e32 v16, vcc, v21, v13, vcc
	v_mad_u64_u32 v[12:13], s[0:1], v8, v16, 0
	v_mov_b32_e32 v15, v10
	v_lshl_add_u64 v[12:13], v[14:15], 0, v[12:13]
	v_mad_u64_u32 v[14:15], s[0:1], v9, v16, 0
	v_mad_u64_u32 v[16:17], s[0:1], v9, v11, 0
	v_add_co_u32_e32 v11, vcc, v12, v16
	s_nop 1
	v_addc_co_u32_e32 v12, vcc, v13, v17, vcc
	v_mov_b32_e32 v13, v10
	s_nop 0
	v_addc_co_u32_e32 v15, vcc, 0, v15, vcc
	v_lshl_add_u64 v[10:11], v[12:13], 0, v[14:15]
	v_mul_lo_u32 v12, v7, v10
	v_mul_lo_u32 v13, v6, v11
	v_mad_u64_u32 v[10:11], s[0:1], v6, v10, 0
	v_add3_u32 v11, v11, v13, v12
	v_sub_u32_e32 v12, v9, v11
	v_sub_co_u32_e32 v8, vcc, v8, v10
	s_nop 1
	v_subb_co_u32_e64 v10, s[0:1], v12, v7, vcc
	v_sub_co_u32_e64 v12, s[0:1], v8, v6
	v_subb_co_u32_e32 v9, vcc, v9, v11, vcc
	s_nop 0
	v_subbrev_co_u32_e64 v13, s[2:3], 0, v10, s[0:1]
	v_cmp_ge_u32_e64 s[2:3], v13, v7
	v_subb_co_u32_e64 v10, s[0:1], v10, v7, s[0:1]
	s_nop 0
	v_cndmask_b32_e64 v14, 0, -1, s[2:3]
	v_cmp_ge_u32_e64 s[2:3], v12, v6
	v_cmp_ge_u32_e32 vcc, v9, v7
	s_nop 0
	v_cndmask_b32_e64 v15, 0, -1, s[2:3]
	v_cmp_eq_u32_e64 s[2:3], v13, v7
	v_cndmask_b32_e64 v11, 0, -1, vcc
	v_cmp_ge_u32_e32 vcc, v8, v6
	v_cndmask_b32_e64 v14, v14, v15, s[2:3]
	v_sub_co_u32_e64 v15, s[0:1], v12, v6
	v_cndmask_b32_e64 v6, 0, -1, vcc
	s_nop 0
	v_subbrev_co_u32_e64 v10, s[0:1], 0, v10, s[0:1]
	v_cmp_eq_u32_e32 vcc, v9, v7
	v_cmp_ne_u32_e64 s[0:1], 0, v14
	s_nop 0
	v_cndmask_b32_e32 v6, v11, v6, vcc
	v_cndmask_b32_e64 v10, v13, v10, s[0:1]
	v_cmp_ne_u32_e32 vcc, 0, v6
	v_cndmask_b32_e64 v6, v12, v15, s[0:1]
	s_nop 0
	v_cndmask_b32_e32 v13, v9, v10, vcc
	v_cndmask_b32_e32 v12, v8, v6, vcc
                                        ; implicit-def: $vgpr6_vgpr7
                                        ; implicit-def: $vgpr8_vgpr9
.LBB3_6:
	s_andn2_saveexec_b64 s[0:1], s[4:5]
	s_cbranch_execz .LBB3_8
; %bb.7:
	v_cvt_f32_u32_e32 v7, v6
	v_sub_u32_e32 v9, 0, v6
	v_mov_b32_e32 v13, 0
	v_rcp_iflag_f32_e32 v7, v7
	s_nop 0
	v_mul_f32_e32 v7, 0x4f7ffffe, v7
	v_cvt_u32_f32_e32 v7, v7
	v_mul_lo_u32 v9, v9, v7
	v_mul_hi_u32 v9, v7, v9
	v_add_u32_e32 v7, v7, v9
	v_mul_hi_u32 v7, v8, v7
	v_mul_lo_u32 v7, v7, v6
	v_sub_u32_e32 v7, v8, v7
	v_sub_u32_e32 v8, v7, v6
	v_cmp_ge_u32_e32 vcc, v7, v6
	s_nop 1
	v_cndmask_b32_e32 v7, v7, v8, vcc
	v_sub_u32_e32 v8, v7, v6
	v_cmp_ge_u32_e32 vcc, v7, v6
	s_nop 1
	v_cndmask_b32_e32 v12, v7, v8, vcc
.LBB3_8:
	s_or_b64 exec, exec, s[0:1]
	global_store_dwordx2 v[0:1], v[12:13], off offset:8
	global_load_dwordx2 v[6:7], v[2:3], off
	global_load_dwordx2 v[8:9], v[4:5], off
	s_waitcnt vmcnt(0)
	v_mul_lo_u32 v4, v9, v6
	v_mul_lo_u32 v5, v8, v7
	v_mad_u64_u32 v[2:3], s[0:1], v8, v6, 0
	v_add3_u32 v3, v3, v5, v4
	global_store_dwordx2 v[0:1], v[2:3], off offset:16
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end3:
	.size	__clang_ocl_kern_imp_long_division, .Lfunc_end3-__clang_ocl_kern_imp_long_division
                                        ; -- End function
	.set __clang_ocl_kern_imp_long_division.num_vgpr, 32
	.set __clang_ocl_kern_imp_long_division.num_agpr, 0
	.set __clang_ocl_kern_imp_long_division.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_long_division.num_named_barrier, 0
	.set __clang_ocl_kern_imp_long_division.private_seg_size, 0
	.set __clang_ocl_kern_imp_long_division.uses_vcc, 1
	.set __clang_ocl_kern_imp_long_division.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_long_division.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_long_division.has_recursion, 0
	.set __clang_ocl_kern_imp_long_division.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 1784
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.protected	float_division          ; -- Begin function float_division
	.globl	float_division
	.p2align	8
	.type	float_division,@function
float_division:                         ; @float_division
; %bb.0:
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshl_or_b32 v0, s2, 8, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[2:3], s[8:9], 0, v[0:1]
	global_load_dword v4, v[2:3], off
	v_lshl_add_u64 v[2:3], s[6:7], 0, v[0:1]
	global_load_dword v2, v[2:3], off
	v_lshl_add_u64 v[0:1], s[4:5], 0, v[0:1]
	s_waitcnt vmcnt(1)
	v_frexp_exp_i32_f32_e32 v3, v4
	v_frexp_mant_f32_e32 v4, v4
	v_rcp_f32_e32 v4, v4
	s_waitcnt vmcnt(0)
	v_frexp_exp_i32_f32_e32 v5, v2
	v_frexp_mant_f32_e32 v2, v2
	v_sub_u32_e32 v3, v5, v3
	v_mul_f32_e32 v2, v2, v4
	v_ldexp_f32 v2, v2, v3
	global_store_dword v[0:1], v2, off
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel float_division
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 10
		.amdhsa_accum_offset 8
		.amdhsa_reserve_vcc 0
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end4:
	.size	float_division, .Lfunc_end4-float_division
                                        ; -- End function
	.set float_division.num_vgpr, 6
	.set float_division.num_agpr, 0
	.set float_division.numbered_sgpr, 10
	.set float_division.num_named_barrier, 0
	.set float_division.private_seg_size, 0
	.set float_division.uses_vcc, 0
	.set float_division.uses_flat_scratch, 0
	.set float_division.has_dyn_sized_stack, 0
	.set float_division.has_recursion, 0
	.set float_division.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 136
; TotalNumSgprs: 16
; NumVgprs: 6
; NumAgprs: 0
; TotalNumVgprs: 6
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 0
; NumSGPRsForWavesPerEU: 16
; NumVGPRsForWavesPerEU: 6
; AccumOffset: 8
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 1
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_float_division ; -- Begin function __clang_ocl_kern_imp_float_division
	.globl	__clang_ocl_kern_imp_float_division
	.p2align	2
	.type	__clang_ocl_kern_imp_float_division,@function
__clang_ocl_kern_imp_float_division:    ; @__clang_ocl_kern_imp_float_division
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v6, 0x3ff, v31
	v_lshl_or_b32 v6, s12, 8, v6
	v_ashrrev_i32_e32 v7, 31, v6
	v_lshlrev_b64 v[6:7], 2, v[6:7]
	v_lshl_add_u64 v[4:5], v[4:5], 0, v[6:7]
	global_load_dword v4, v[4:5], off
	v_lshl_add_u64 v[2:3], v[2:3], 0, v[6:7]
	global_load_dword v2, v[2:3], off
	v_lshl_add_u64 v[0:1], v[0:1], 0, v[6:7]
	s_waitcnt vmcnt(1)
	v_frexp_exp_i32_f32_e32 v3, v4
	v_frexp_mant_f32_e32 v4, v4
	v_rcp_f32_e32 v4, v4
	s_waitcnt vmcnt(0)
	v_frexp_exp_i32_f32_e32 v5, v2
	v_frexp_mant_f32_e32 v2, v2
	v_sub_u32_e32 v3, v5, v3
	v_mul_f32_e32 v2, v2, v4
	v_ldexp_f32 v2, v2, v3
	global_store_dword v[0:1], v2, off
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end5:
	.size	__clang_ocl_kern_imp_float_division, .Lfunc_end5-__clang_ocl_kern_imp_float_division
                                        ; -- End function
	.set __clang_ocl_kern_imp_float_division.num_vgpr, 32
	.set __clang_ocl_kern_imp_float_division.num_agpr, 0
	.set __clang_ocl_kern_imp_float_division.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_float_division.num_named_barrier, 0
	.set __clang_ocl_kern_imp_float_division.private_seg_size, 0
	.set __clang_ocl_kern_imp_float_division.uses_vcc, 0
	.set __clang_ocl_kern_imp_float_division.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_float_division.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_float_division.has_recursion, 0
	.set __clang_ocl_kern_imp_float_division.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 132
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.protected	double_division         ; -- Begin function double_division
	.globl	double_division
	.p2align	8
	.type	double_division,@function
double_division:                        ; @double_division
; %bb.0:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	v_lshl_or_b32 v0, s2, 8, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[2:3], 3, v[0:1]
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[4:5], s[6:7], 0, v[2:3]
	v_lshl_add_u64 v[2:3], s[8:9], 0, v[2:3]
	global_load_dwordx2 v[6:7], v[4:5], off
	global_load_dwordx2 v[8:9], v[2:3], off
	v_lshlrev_b32_e32 v0, 1, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_mov_b32_e32 v10, s4
	v_mov_b32_e32 v11, s5
	v_lshl_add_u64 v[0:1], v[0:1], 3, v[10:11]
	s_waitcnt vmcnt(0)
	v_div_scale_f64 v[12:13], s[0:1], v[8:9], v[8:9], v[6:7]
	v_rcp_f64_e32 v[14:15], v[12:13]
	v_div_scale_f64 v[10:11], vcc, v[6:7], v[8:9], v[6:7]
	v_fma_f64 v[16:17], -v[12:13], v[14:15], 1.0
	v_fmac_f64_e32 v[14:15], v[14:15], v[16:17]
	v_fma_f64 v[16:17], -v[12:13], v[14:15], 1.0
	v_fmac_f64_e32 v[14:15], v[14:15], v[16:17]
	v_mul_f64 v[16:17], v[10:11], v[14:15]
	v_fma_f64 v[10:11], -v[12:13], v[16:17], v[10:11]
	v_div_fmas_f64 v[10:11], v[10:11], v[14:15], v[16:17]
	v_div_fixup_f64 v[6:7], v[10:11], v[8:9], v[6:7]
	global_store_dwordx2 v[0:1], v[6:7], off
	global_load_dwordx2 v[6:7], v[4:5], off
	s_nop 0
	global_load_dwordx2 v[8:9], v[2:3], off
	s_waitcnt vmcnt(0)
	v_fmac_f64_e32 v[6:7], v[6:7], v[8:9]
	global_store_dwordx2 v[0:1], v[6:7], off offset:8
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel double_division
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 18
		.amdhsa_next_free_sgpr 10
		.amdhsa_accum_offset 20
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end6:
	.size	double_division, .Lfunc_end6-double_division
                                        ; -- End function
	.set double_division.num_vgpr, 18
	.set double_division.num_agpr, 0
	.set double_division.numbered_sgpr, 10
	.set double_division.num_named_barrier, 0
	.set double_division.private_seg_size, 0
	.set double_division.uses_vcc, 1
	.set double_division.uses_flat_scratch, 0
	.set double_division.has_dyn_sized_stack, 0
	.set double_division.has_recursion, 0
	.set double_division.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 224
; TotalNumSgprs: 16
; NumVgprs: 18
; NumAgprs: 0
; TotalNumVgprs: 18
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 2
; NumSGPRsForWavesPerEU: 16
; NumVGPRsForWavesPerEU: 18
; AccumOffset: 20
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 4
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_double_division ; -- Begin function __clang_ocl_kern_imp_double_division
	.globl	__clang_ocl_kern_imp_double_division
	.p2align	2
	.type	__clang_ocl_kern_imp_double_division,@function
__clang_ocl_kern_imp_double_division:   ; @__clang_ocl_kern_imp_double_division
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v6, 0x3ff, v31
	v_lshl_or_b32 v6, s12, 8, v6
	v_ashrrev_i32_e32 v7, 31, v6
	v_lshlrev_b64 v[8:9], 3, v[6:7]
	v_lshl_add_u64 v[2:3], v[2:3], 0, v[8:9]
	v_lshl_add_u64 v[4:5], v[4:5], 0, v[8:9]
	global_load_dwordx2 v[10:11], v[2:3], off
	global_load_dwordx2 v[8:9], v[4:5], off
	v_lshlrev_b32_e32 v6, 1, v6
	v_ashrrev_i32_e32 v7, 31, v6
	v_lshl_add_u64 v[0:1], v[6:7], 3, v[0:1]
	s_waitcnt vmcnt(0)
	v_div_scale_f64 v[12:13], s[0:1], v[8:9], v[8:9], v[10:11]
	v_rcp_f64_e32 v[14:15], v[12:13]
	v_div_scale_f64 v[6:7], vcc, v[10:11], v[8:9], v[10:11]
	v_fma_f64 v[16:17], -v[12:13], v[14:15], 1.0
	v_fmac_f64_e32 v[14:15], v[14:15], v[16:17]
	v_fma_f64 v[16:17], -v[12:13], v[14:15], 1.0
	v_fmac_f64_e32 v[14:15], v[14:15], v[16:17]
	v_mul_f64 v[16:17], v[6:7], v[14:15]
	v_fma_f64 v[6:7], -v[12:13], v[16:17], v[6:7]
	v_div_fmas_f64 v[6:7], v[6:7], v[14:15], v[16:17]
	v_div_fixup_f64 v[6:7], v[6:7], v[8:9], v[10:11]
	global_store_dwordx2 v[0:1], v[6:7], off
	global_load_dwordx2 v[6:7], v[2:3], off
	s_nop 0
	global_load_dwordx2 v[8:9], v[4:5], off
	s_waitcnt vmcnt(0)
	v_fmac_f64_e32 v[6:7], v[6:7], v[8:9]
	global_store_dwordx2 v[0:1], v[6:7], off offset:8
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end7:
	.size	__clang_ocl_kern_imp_double_division, .Lfunc_end7-__clang_ocl_kern_imp_double_division
                                        ; -- End function
	.set __clang_ocl_kern_imp_double_division.num_vgpr, 32
	.set __clang_ocl_kern_imp_double_division.num_agpr, 0
	.set __clang_ocl_kern_imp_double_division.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_double_division.num_named_barrier, 0
	.set __clang_ocl_kern_imp_double_division.private_seg_size, 0
	.set __clang_ocl_kern_imp_double_division.uses_vcc, 1
	.set __clang_ocl_kern_imp_double_division.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_double_division.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_double_division.has_recursion, 0
	.set __clang_ocl_kern_imp_double_division.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 212
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 1
	.text
	.protected	square_root             ; -- Begin function square_root
	.globl	square_root
	.p2align	8
	.type	square_root,@function
square_root:                            ; @square_root
; %bb.0:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshl_or_b32 v0, s2, 8, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	s_mov_b32 s0, 0x800000
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[2:3], s[6:7], 0, v[0:1]
	global_load_dword v2, v[2:3], off
	v_lshl_add_u64 v[0:1], s[4:5], 0, v[0:1]
	s_waitcnt vmcnt(0)
	v_cmp_gt_f32_e32 vcc, s0, v2
	s_nop 1
	v_cndmask_b32_e64 v3, 0, 32, vcc
	v_ldexp_f32 v2, v2, v3
	v_sqrt_f32_e32 v2, v2
	v_cndmask_b32_e64 v3, 0, -16, vcc
	v_ldexp_f32 v2, v2, v3
	global_store_dword v[0:1], v2, off
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel square_root
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 4
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 4
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end8:
	.size	square_root, .Lfunc_end8-square_root
                                        ; -- End function
	.set square_root.num_vgpr, 4
	.set square_root.num_agpr, 0
	.set square_root.numbered_sgpr, 8
	.set square_root.num_named_barrier, 0
	.set square_root.private_seg_size, 0
	.set square_root.uses_vcc, 1
	.set square_root.uses_flat_scratch, 0
	.set square_root.has_dyn_sized_stack, 0
	.set square_root.has_recursion, 0
	.set square_root.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 124
; TotalNumSgprs: 14
; NumVgprs: 4
; NumAgprs: 0
; TotalNumVgprs: 4
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 0
; NumSGPRsForWavesPerEU: 14
; NumVGPRsForWavesPerEU: 4
; AccumOffset: 4
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 0
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_square_root ; -- Begin function __clang_ocl_kern_imp_square_root
	.globl	__clang_ocl_kern_imp_square_root
	.p2align	2
	.type	__clang_ocl_kern_imp_square_root,@function
__clang_ocl_kern_imp_square_root:       ; @__clang_ocl_kern_imp_square_root
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v4, 0x3ff, v31
	v_lshl_or_b32 v4, s12, 8, v4
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshlrev_b64 v[4:5], 2, v[4:5]
	v_lshl_add_u64 v[2:3], v[2:3], 0, v[4:5]
	global_load_dword v2, v[2:3], off
	s_mov_b32 s0, 0x800000
	v_lshl_add_u64 v[0:1], v[0:1], 0, v[4:5]
	s_waitcnt vmcnt(0)
	v_cmp_gt_f32_e32 vcc, s0, v2
	s_nop 1
	v_cndmask_b32_e64 v3, 0, 32, vcc
	v_ldexp_f32 v2, v2, v3
	v_sqrt_f32_e32 v2, v2
	v_cndmask_b32_e64 v3, 0, -16, vcc
	v_ldexp_f32 v2, v2, v3
	global_store_dword v[0:1], v2, off
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end9:
	.size	__clang_ocl_kern_imp_square_root, .Lfunc_end9-__clang_ocl_kern_imp_square_root
                                        ; -- End function
	.set __clang_ocl_kern_imp_square_root.num_vgpr, 32
	.set __clang_ocl_kern_imp_square_root.num_agpr, 0
	.set __clang_ocl_kern_imp_square_root.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_square_root.num_named_barrier, 0
	.set __clang_ocl_kern_imp_square_root.private_seg_size, 0
	.set __clang_ocl_kern_imp_square_root.uses_vcc, 1
	.set __clang_ocl_kern_imp_square_root.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_square_root.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_square_root.has_recursion, 0
	.set __clang_ocl_kern_imp_square_root.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 128
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.protected	collatz                 ; -- Begin function collatz
	.globl	collatz
	.p2align	8
	.type	collatz,@function
collatz:                                ; @collatz
; %bb.0:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshl_or_b32 v0, s2, 8, v0
	v_ashrrev_i32_e32 v1, 31, v0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v2, s6
	v_mov_b32_e32 v3, s7
	v_lshl_add_u64 v[2:3], v[0:1], 2, v[2:3]
	global_load_dword v2, v[2:3], off
	v_mov_b32_e32 v3, 0
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e32 vcc, 1, v2
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB10_8
; %bb.1:
	s_mov_b32 s8, 0
	s_mov_b64 s[2:3], 0
	s_branch .LBB10_3
.LBB10_2:                               ;   in Loop: Header=BB10_3 Depth=1
	s_or_b64 exec, exec, s[6:7]
	s_add_i32 s8, s8, 1
	v_cmp_eq_u32_e32 vcc, 1, v2
	s_or_b64 s[2:3], vcc, s[2:3]
	v_mov_b32_e32 v3, s8
	s_andn2_b64 exec, exec, s[2:3]
	s_cbranch_execz .LBB10_7
.LBB10_3:                               ; =>This Inner Loop Header: Depth=1
	v_and_b32_e32 v3, 1, v2
	v_cmp_eq_u32_e32 vcc, 1, v3
	s_and_saveexec_b64 s[6:7], vcc
	s_xor_b64 s[6:7], exec, s[6:7]
; %bb.4:                                ;   in Loop: Header=BB10_3 Depth=1
	v_mad_u64_u32 v[2:3], s[10:11], v2, 3, 1
; %bb.5:                                ;   in Loop: Header=BB10_3 Depth=1
	s_andn2_saveexec_b64 s[6:7], s[6:7]
	s_cbranch_execz .LBB10_2
; %bb.6:                                ;   in Loop: Header=BB10_3 Depth=1
	v_lshrrev_b32_e32 v2, 1, v2
	s_branch .LBB10_2
.LBB10_7:
	s_or_b64 exec, exec, s[2:3]
.LBB10_8:
	s_or_b64 exec, exec, s[0:1]
	v_mov_b32_e32 v4, s4
	v_mov_b32_e32 v5, s5
	v_lshl_add_u64 v[0:1], v[0:1], 2, v[4:5]
	global_store_dword v[0:1], v3, off
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel collatz
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 12
		.amdhsa_accum_offset 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end10:
	.size	collatz, .Lfunc_end10-collatz
                                        ; -- End function
	.set collatz.num_vgpr, 6
	.set collatz.num_agpr, 0
	.set collatz.numbered_sgpr, 12
	.set collatz.num_named_barrier, 0
	.set collatz.private_seg_size, 0
	.set collatz.uses_vcc, 1
	.set collatz.uses_flat_scratch, 0
	.set collatz.has_dyn_sized_stack, 0
	.set collatz.has_recursion, 0
	.set collatz.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 184
; TotalNumSgprs: 18
; NumVgprs: 6
; NumAgprs: 0
; TotalNumVgprs: 6
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 2
; VGPRBlocks: 0
; NumSGPRsForWavesPerEU: 18
; NumVGPRsForWavesPerEU: 6
; AccumOffset: 8
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 1
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_collatz ; -- Begin function __clang_ocl_kern_imp_collatz
	.globl	__clang_ocl_kern_imp_collatz
	.p2align	2
	.type	__clang_ocl_kern_imp_collatz,@function
__clang_ocl_kern_imp_collatz:           ; @__clang_ocl_kern_imp_collatz
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v4, 0x3ff, v31
	v_lshl_or_b32 v4, s12, 8, v4
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshl_add_u64 v[2:3], v[4:5], 2, v[2:3]
	global_load_dword v2, v[2:3], off
	v_mov_b32_e32 v3, 0
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e32 vcc, 1, v2
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB11_8
; %bb.1:
	s_mov_b32 s6, 0
	s_mov_b64 s[2:3], 0
	s_branch .LBB11_3
.LBB11_2:                               ;   in Loop: Header=BB11_3 Depth=1
	s_or_b64 exec, exec, s[4:5]
	s_add_i32 s6, s6, 1
	v_cmp_eq_u32_e32 vcc, 1, v2
	s_or_b64 s[2:3], vcc, s[2:3]
	v_mov_b32_e32 v3, s6
	s_andn2_b64 exec, exec, s[2:3]
	s_cbranch_execz .LBB11_7
.LBB11_3:                               ; =>This Inner Loop Header: Depth=1
	v_and_b32_e32 v3, 1, v2
	v_cmp_eq_u32_e32 vcc, 1, v3
	s_and_saveexec_b64 s[4:5], vcc
	s_xor_b64 s[4:5], exec, s[4:5]
; %bb.4:                                ;   in Loop: Header=BB11_3 Depth=1
	v_mad_u64_u32 v[2:3], s[8:9], v2, 3, 1
; %bb.5:                                ;   in Loop: Header=BB11_3 Depth=1
	s_andn2_saveexec_b64 s[4:5], s[4:5]
	s_cbranch_execz .LBB11_2
; %bb.6:                                ;   in Loop: Header=BB11_3 Depth=1
	v_lshrrev_b32_e32 v2, 1, v2
	s_branch .LBB11_2
.LBB11_7:
	s_or_b64 exec, exec, s[2:3]
.LBB11_8:
	s_or_b64 exec, exec, s[0:1]
	v_lshl_add_u64 v[0:1], v[4:5], 2, v[0:1]
	global_store_dword v[0:1], v3, off
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end11:
	.size	__clang_ocl_kern_imp_collatz, .Lfunc_end11-__clang_ocl_kern_imp_collatz
                                        ; -- End function
	.set __clang_ocl_kern_imp_collatz.num_vgpr, 32
	.set __clang_ocl_kern_imp_collatz.num_agpr, 0
	.set __clang_ocl_kern_imp_collatz.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_collatz.num_named_barrier, 0
	.set __clang_ocl_kern_imp_collatz.private_seg_size, 0
	.set __clang_ocl_kern_imp_collatz.uses_vcc, 1
	.set __clang_ocl_kern_imp_collatz.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_collatz.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_collatz.has_recursion, 0
	.set __clang_ocl_kern_imp_collatz.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 172
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.protected	conversions             ; -- Begin function conversions
	.globl	conversions
	.p2align	8
	.type	conversions,@function
conversions:                            ; @conversions
; %bb.0:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	v_lshl_or_b32 v0, s2, 8, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[2:3], 2, v[0:1]
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[4:5], s[6:7], 0, v[2:3]
	global_load_dword v8, v[4:5], off
	v_lshlrev_b32_e32 v0, 3, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_mov_b32_e32 v4, s4
	v_mov_b32_e32 v5, s5
	v_lshl_add_u64 v[0:1], v[0:1], 2, v[4:5]
	v_lshl_add_u64 v[2:3], s[8:9], 0, v[2:3]
	s_mov_b32 s2, 0x89abcdef
	s_mov_b32 s0, 0x1234567
	s_waitcnt vmcnt(0)
	v_cvt_i32_f32_e32 v6, v8
	v_cvt_u32_f32_e64 v7, |v8|
	global_store_dwordx2 v[0:1], v[6:7], off
	global_load_dword v4, v[2:3], off
	s_waitcnt vmcnt(0)
	v_cvt_f32_i32_e32 v4, v4
	global_store_dword v[0:1], v4, off offset:8
	global_load_dword v4, v[2:3], off
	s_waitcnt vmcnt(0)
	v_cvt_f32_u32_e32 v4, v4
	global_store_dword v[0:1], v4, off offset:12
	global_load_dword v4, v[2:3], off
	s_waitcnt vmcnt(0)
	v_ashrrev_i32_e32 v6, 31, v4
	v_mul_lo_u32 v7, v4, s0
	v_mad_u64_u32 v[4:5], s[0:1], v4, s2, 0
	v_mul_lo_u32 v6, v6, s2
	v_add3_u32 v5, v5, v7, v6
	v_xor_b32_e32 v7, v4, v5
	v_ffbh_i32_e32 v6, v5
	v_ashrrev_i32_e32 v7, 31, v7
	v_add_u32_e32 v6, -1, v6
	v_add_u32_e32 v7, 32, v7
	v_min_u32_e32 v6, v6, v7
	v_lshlrev_b64 v[4:5], v6, v[4:5]
	v_min_u32_e32 v4, 1, v4
	v_or_b32_e32 v4, v5, v4
	v_cvt_f32_i32_e32 v4, v4
	v_sub_u32_e32 v5, 32, v6
	v_ldexp_f32 v4, v4, v5
	global_store_dword v[0:1], v4, off offset:16
	global_load_dword v4, v[2:3], off
	s_waitcnt vmcnt(0)
	v_bcnt_u32_b32 v5, v4, 0
	v_or_b32_e32 v6, 1, v4
	v_or_b32_e32 v4, 0x80000000, v4
	v_ffbh_u32_e32 v6, v6
	v_ffbl_b32_e32 v4, v4
	v_mul_u32_u24_e32 v6, 0x64, v6
	v_mul_u32_u24_e32 v4, 0x2710, v4
	v_add3_u32 v4, v6, v5, v4
	global_store_dword v[0:1], v4, off offset:20
	global_load_dword v2, v[2:3], off
	v_cvt_f16_f32_e32 v3, v8
	v_bfe_i32 v3, v3, 0, 16
	s_waitcnt vmcnt(0)
	v_bfrev_b32_e32 v2, v2
	global_store_dwordx2 v[0:1], v[2:3], off offset:24
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel conversions
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 9
		.amdhsa_next_free_sgpr 10
		.amdhsa_accum_offset 12
		.amdhsa_reserve_vcc 0
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end12:
	.size	conversions, .Lfunc_end12-conversions
                                        ; -- End function
	.set conversions.num_vgpr, 9
	.set conversions.num_agpr, 0
	.set conversions.numbered_sgpr, 10
	.set conversions.num_named_barrier, 0
	.set conversions.private_seg_size, 0
	.set conversions.uses_vcc, 0
	.set conversions.uses_flat_scratch, 0
	.set conversions.has_dyn_sized_stack, 0
	.set conversions.has_recursion, 0
	.set conversions.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 400
; TotalNumSgprs: 16
; NumVgprs: 9
; NumAgprs: 0
; TotalNumVgprs: 9
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 1
; NumSGPRsForWavesPerEU: 16
; NumVGPRsForWavesPerEU: 9
; AccumOffset: 12
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 2
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_conversions ; -- Begin function __clang_ocl_kern_imp_conversions
	.globl	__clang_ocl_kern_imp_conversions
	.p2align	2
	.type	__clang_ocl_kern_imp_conversions,@function
__clang_ocl_kern_imp_conversions:       ; @__clang_ocl_kern_imp_conversions
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v6, 0x3ff, v31
	v_lshl_or_b32 v6, s12, 8, v6
	v_ashrrev_i32_e32 v7, 31, v6
	v_lshlrev_b64 v[8:9], 2, v[6:7]
	v_lshl_add_u64 v[2:3], v[2:3], 0, v[8:9]
	global_load_dword v10, v[2:3], off
	v_lshlrev_b32_e32 v2, 3, v6
	v_ashrrev_i32_e32 v3, 31, v2
	v_lshl_add_u64 v[0:1], v[2:3], 2, v[0:1]
	v_lshl_add_u64 v[2:3], v[4:5], 0, v[8:9]
	s_mov_b32 s2, 0x89abcdef
	s_mov_b32 s0, 0x1234567
	s_waitcnt vmcnt(0)
	v_cvt_i32_f32_e32 v6, v10
	v_cvt_u32_f32_e64 v7, |v10|
	global_store_dwordx2 v[0:1], v[6:7], off
	global_load_dword v4, v[2:3], off
	s_waitcnt vmcnt(0)
	v_cvt_f32_i32_e32 v4, v4
	global_store_dword v[0:1], v4, off offset:8
	global_load_dword v4, v[2:3], off
	s_waitcnt vmcnt(0)
	v_cvt_f32_u32_e32 v4, v4
	global_store_dword v[0:1], v4, off offset:12
	global_load_dword v4, v[2:3], off
	s_waitcnt vmcnt(0)
	v_ashrrev_i32_e32 v6, 31, v4
	v_mul_lo_u32 v7, v4, s0
	v_mad_u64_u32 v[4:5], s[0:1], v4, s2, 0
	v_mul_lo_u32 v6, v6, s2
	v_add3_u32 v5, v5, v7, v6
	v_xor_b32_e32 v7, v4, v5
	v_ffbh_i32_e32 v6, v5
	v_ashrrev_i32_e32 v7, 31, v7
	v_add_u32_e32 v6, -1, v6
	v_add_u32_e32 v7, 32, v7
	v_min_u32_e32 v6, v6, v7
	v_lshlrev_b64 v[4:5], v6, v[4:5]
	v_min_u32_e32 v4, 1, v4
	v_or_b32_e32 v4, v5, v4
	v_cvt_f32_i32_e32 v4, v4
	v_sub_u32_e32 v5, 32, v6
	v_ldexp_f32 v4, v4, v5
	global_store_dword v[0:1], v4, off offset:16
	global_load_dword v4, v[2:3], off
	s_waitcnt vmcnt(0)
	v_bcnt_u32_b32 v5, v4, 0
	v_or_b32_e32 v6, 1, v4
	v_or_b32_e32 v4, 0x80000000, v4
	v_ffbh_u32_e32 v6, v6
	v_ffbl_b32_e32 v4, v4
	v_mul_u32_u24_e32 v6, 0x64, v6
	v_mul_u32_u24_e32 v4, 0x2710, v4
	v_add3_u32 v4, v6, v5, v4
	global_store_dword v[0:1], v4, off offset:20
	global_load_dword v2, v[2:3], off
	v_cvt_f16_f32_e32 v3, v10
	v_bfe_i32 v3, v3, 0, 16
	s_waitcnt vmcnt(0)
	v_bfrev_b32_e32 v2, v2
	global_store_dwordx2 v[0:1], v[2:3], off offset:24
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end13:
	.size	__clang_ocl_kern_imp_conversions, .Lfunc_end13-__clang_ocl_kern_imp_conversions
                                        ; -- End function
	.set __clang_ocl_kern_imp_conversions.num_vgpr, 32
	.set __clang_ocl_kern_imp_conversions.num_agpr, 0
	.set __clang_ocl_kern_imp_conversions.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_conversions.num_named_barrier, 0
	.set __clang_ocl_kern_imp_conversions.private_seg_size, 0
	.set __clang_ocl_kern_imp_conversions.uses_vcc, 0
	.set __clang_ocl_kern_imp_conversions.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_conversions.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_conversions.has_recursion, 0
	.set __clang_ocl_kern_imp_conversions.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 388
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.protected	bytes                   ; -- Begin function bytes
	.globl	bytes
	.p2align	8
	.type	bytes,@function
bytes:                                  ; @bytes
; %bb.0:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	v_lshl_or_b32 v0, s2, 8, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b32_e32 v4, 2, v0
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[2:3], s[6:7], 0, v[0:1]
	global_load_ushort v6, v[2:3], off
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshl_add_u64 v[4:5], s[4:5], 0, v[4:5]
	v_lshl_add_u64 v[0:1], v[0:1], 1, s[8:9]
	s_waitcnt vmcnt(0)
	v_add_u16_sdwa v6, v6, v6 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD
	global_store_byte v[4:5], v6, off
	global_load_ushort v2, v[2:3], off
	s_waitcnt vmcnt(0)
	v_max_u16_sdwa v2, v2, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:BYTE_1
	global_store_byte v[4:5], v2, off offset:1
	global_load_ubyte v2, v[0:1], off offset:1
	s_waitcnt vmcnt(0)
	global_store_byte v[4:5], v2, off offset:2
	global_load_dword v0, v[0:1], off
	s_waitcnt vmcnt(0)
	v_mul_i32_i24_sdwa v0, sext(v0), sext(v0) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0
	global_store_byte_d16_hi v[4:5], v0, off offset:3
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel bytes
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 7
		.amdhsa_next_free_sgpr 10
		.amdhsa_accum_offset 8
		.amdhsa_reserve_vcc 0
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end14:
	.size	bytes, .Lfunc_end14-bytes
                                        ; -- End function
	.set bytes.num_vgpr, 7
	.set bytes.num_agpr, 0
	.set bytes.numbered_sgpr, 10
	.set bytes.num_named_barrier, 0
	.set bytes.private_seg_size, 0
	.set bytes.uses_vcc, 0
	.set bytes.uses_flat_scratch, 0
	.set bytes.has_dyn_sized_stack, 0
	.set bytes.has_recursion, 0
	.set bytes.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 172
; TotalNumSgprs: 16
; NumVgprs: 7
; NumAgprs: 0
; TotalNumVgprs: 7
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 0
; NumSGPRsForWavesPerEU: 16
; NumVGPRsForWavesPerEU: 7
; AccumOffset: 8
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 1
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_bytes ; -- Begin function __clang_ocl_kern_imp_bytes
	.globl	__clang_ocl_kern_imp_bytes
	.p2align	2
	.type	__clang_ocl_kern_imp_bytes,@function
__clang_ocl_kern_imp_bytes:             ; @__clang_ocl_kern_imp_bytes
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v6, 0x3ff, v31
	v_lshl_or_b32 v6, s12, 8, v6
	v_ashrrev_i32_e32 v7, 31, v6
	v_lshl_add_u64 v[2:3], v[2:3], 0, v[6:7]
	global_load_ushort v10, v[2:3], off
	v_lshlrev_b32_e32 v8, 2, v6
	v_ashrrev_i32_e32 v9, 31, v8
	v_lshl_add_u64 v[0:1], v[0:1], 0, v[8:9]
	s_waitcnt vmcnt(0)
	v_add_u16_sdwa v8, v10, v10 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD
	global_store_byte v[0:1], v8, off
	global_load_ushort v2, v[2:3], off
	s_waitcnt vmcnt(0)
	v_max_u16_sdwa v2, v2, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:BYTE_1
	global_store_byte v[0:1], v2, off offset:1
	v_lshl_add_u64 v[2:3], v[6:7], 1, v[4:5]
	global_load_ubyte v4, v[2:3], off offset:1
	s_waitcnt vmcnt(0)
	global_store_byte v[0:1], v4, off offset:2
	global_load_dword v2, v[2:3], off
	s_waitcnt vmcnt(0)
	v_mul_i32_i24_sdwa v2, sext(v2), sext(v2) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0
	global_store_byte_d16_hi v[0:1], v2, off offset:3
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end15:
	.size	__clang_ocl_kern_imp_bytes, .Lfunc_end15-__clang_ocl_kern_imp_bytes
                                        ; -- End function
	.set __clang_ocl_kern_imp_bytes.num_vgpr, 32
	.set __clang_ocl_kern_imp_bytes.num_agpr, 0
	.set __clang_ocl_kern_imp_bytes.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_bytes.num_named_barrier, 0
	.set __clang_ocl_kern_imp_bytes.private_seg_size, 0
	.set __clang_ocl_kern_imp_bytes.uses_vcc, 0
	.set __clang_ocl_kern_imp_bytes.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_bytes.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_bytes.has_recursion, 0
	.set __clang_ocl_kern_imp_bytes.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 168
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.protected	halves                  ; -- Begin function halves
	.globl	halves
	.p2align	8
	.type	halves,@function
halves:                                 ; @halves
; %bb.0:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	v_lshl_or_b32 v0, s2, 8, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[2:3], 2, v[0:1]
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[4:5], s[6:7], 0, v[2:3]
	v_lshl_add_u64 v[2:3], s[8:9], 0, v[2:3]
	global_load_dword v8, v[4:5], off
	global_load_dword v9, v[2:3], off
	v_lshl_add_u32 v0, v0, 1, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_mov_b32_e32 v6, s4
	v_mov_b32_e32 v7, s5
	v_lshl_add_u64 v[0:1], v[0:1], 2, v[6:7]
	s_waitcnt vmcnt(0)
	v_pk_fma_f16 v6, v8, v9, v8
	global_store_dword v[0:1], v6, off
	global_load_dword v6, v[2:3], off
	s_nop 0
	global_load_dword v7, v[4:5], off
	s_waitcnt vmcnt(1)
	v_pk_max_f16 v6, v6, v6
	s_waitcnt vmcnt(0)
	v_pk_max_f16 v7, v7, v7
	s_nop 0
	v_pk_max_f16 v6, v7, v6
	global_store_dword v[0:1], v6, off offset:4
	global_load_dword v6, v[4:5], off
	s_nop 0
	global_load_dword v7, v[2:3], off
	s_waitcnt vmcnt(0)
	v_pk_add_f16 v2, v6, v7 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1] neg_hi:[0,1]
	global_store_dword v[0:1], v2, off offset:8
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel halves
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 10
		.amdhsa_next_free_sgpr 10
		.amdhsa_accum_offset 12
		.amdhsa_reserve_vcc 0
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end16:
	.size	halves, .Lfunc_end16-halves
                                        ; -- End function
	.set halves.num_vgpr, 10
	.set halves.num_agpr, 0
	.set halves.numbered_sgpr, 10
	.set halves.num_named_barrier, 0
	.set halves.private_seg_size, 0
	.set halves.uses_vcc, 0
	.set halves.uses_flat_scratch, 0
	.set halves.has_dyn_sized_stack, 0
	.set halves.has_recursion, 0
	.set halves.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 228
; TotalNumSgprs: 16
; NumVgprs: 10
; NumAgprs: 0
; TotalNumVgprs: 10
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 1
; NumSGPRsForWavesPerEU: 16
; NumVGPRsForWavesPerEU: 10
; AccumOffset: 12
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 2
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_halves ; -- Begin function __clang_ocl_kern_imp_halves
	.globl	__clang_ocl_kern_imp_halves
	.p2align	2
	.type	__clang_ocl_kern_imp_halves,@function
__clang_ocl_kern_imp_halves:            ; @__clang_ocl_kern_imp_halves
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v6, 0x3ff, v31
	v_lshl_or_b32 v6, s12, 8, v6
	v_ashrrev_i32_e32 v7, 31, v6
	v_lshlrev_b64 v[8:9], 2, v[6:7]
	v_lshl_add_u64 v[2:3], v[2:3], 0, v[8:9]
	v_lshl_add_u64 v[4:5], v[4:5], 0, v[8:9]
	global_load_dword v10, v[2:3], off
	global_load_dword v8, v[4:5], off
	v_lshl_add_u32 v6, v6, 1, v6
	v_ashrrev_i32_e32 v7, 31, v6
	v_lshl_add_u64 v[0:1], v[6:7], 2, v[0:1]
	s_waitcnt vmcnt(0)
	v_pk_fma_f16 v6, v10, v8, v10
	global_store_dword v[0:1], v6, off
	global_load_dword v6, v[4:5], off
	s_nop 0
	global_load_dword v7, v[2:3], off
	s_waitcnt vmcnt(1)
	v_pk_max_f16 v6, v6, v6
	s_waitcnt vmcnt(0)
	v_pk_max_f16 v7, v7, v7
	s_nop 0
	v_pk_max_f16 v6, v7, v6
	global_store_dword v[0:1], v6, off offset:4
	global_load_dword v6, v[2:3], off
	s_nop 0
	global_load_dword v7, v[4:5], off
	s_waitcnt vmcnt(0)
	v_pk_add_f16 v2, v6, v7 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1] neg_hi:[0,1]
	global_store_dword v[0:1], v2, off offset:8
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end17:
	.size	__clang_ocl_kern_imp_halves, .Lfunc_end17-__clang_ocl_kern_imp_halves
                                        ; -- End function
	.set __clang_ocl_kern_imp_halves.num_vgpr, 32
	.set __clang_ocl_kern_imp_halves.num_agpr, 0
	.set __clang_ocl_kern_imp_halves.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_halves.num_named_barrier, 0
	.set __clang_ocl_kern_imp_halves.private_seg_size, 0
	.set __clang_ocl_kern_imp_halves.uses_vcc, 0
	.set __clang_ocl_kern_imp_halves.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_halves.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_halves.has_recursion, 0
	.set __clang_ocl_kern_imp_halves.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 216
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.protected	bfloats                 ; -- Begin function bfloats
	.globl	bfloats
	.p2align	8
	.type	bfloats,@function
bfloats:                                ; @bfloats
; %bb.0:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	v_lshl_or_b32 v0, s2, 8, v0
	v_lshlrev_b32_e32 v2, 1, v0
	v_ashrrev_i32_e32 v3, 31, v2
	v_lshlrev_b64 v[2:3], 2, v[2:3]
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[4:5], s[6:7], 0, v[2:3]
	global_load_dwordx2 v[4:5], v[4:5], off
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshl_add_u64 v[2:3], s[4:5], 0, v[2:3]
	v_lshl_add_u64 v[0:1], v[0:1], 2, s[8:9]
	s_waitcnt vmcnt(0)
	v_cvt_pk_bf16_f32 v4, v4, v5
	global_store_dword v[2:3], v4, off
	global_load_dword v0, v[0:1], off
	v_and_b32_e32 v1, 0xffff0000, v4
	v_lshlrev_b32_e32 v4, 16, v4
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v5, 0xffff0000, v0
	v_lshlrev_b32_e32 v0, 16, v0
	v_add_f32_e32 v1, v5, v1
	v_add_f32_e32 v0, v0, v4
	v_cvt_pk_bf16_f32 v0, v0, v1
	global_store_dword v[2:3], v0, off offset:4
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel bfloats
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 10
		.amdhsa_accum_offset 8
		.amdhsa_reserve_vcc 0
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end18:
	.size	bfloats, .Lfunc_end18-bfloats
                                        ; -- End function
	.set bfloats.num_vgpr, 6
	.set bfloats.num_agpr, 0
	.set bfloats.numbered_sgpr, 10
	.set bfloats.num_named_barrier, 0
	.set bfloats.private_seg_size, 0
	.set bfloats.uses_vcc, 0
	.set bfloats.uses_flat_scratch, 0
	.set bfloats.has_dyn_sized_stack, 0
	.set bfloats.has_recursion, 0
	.set bfloats.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 164
; TotalNumSgprs: 16
; NumVgprs: 6
; NumAgprs: 0
; TotalNumVgprs: 6
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 0
; NumSGPRsForWavesPerEU: 16
; NumVGPRsForWavesPerEU: 6
; AccumOffset: 8
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 1
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_bfloats ; -- Begin function __clang_ocl_kern_imp_bfloats
	.globl	__clang_ocl_kern_imp_bfloats
	.p2align	2
	.type	__clang_ocl_kern_imp_bfloats,@function
__clang_ocl_kern_imp_bfloats:           ; @__clang_ocl_kern_imp_bfloats
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v6, 0x3ff, v31
	v_lshl_or_b32 v6, s12, 8, v6
	v_lshlrev_b32_e32 v8, 1, v6
	v_ashrrev_i32_e32 v9, 31, v8
	v_lshlrev_b64 v[8:9], 2, v[8:9]
	v_lshl_add_u64 v[2:3], v[2:3], 0, v[8:9]
	global_load_dwordx2 v[2:3], v[2:3], off
	v_ashrrev_i32_e32 v7, 31, v6
	v_lshl_add_u64 v[0:1], v[0:1], 0, v[8:9]
	v_lshl_add_u64 v[4:5], v[6:7], 2, v[4:5]
	s_waitcnt vmcnt(0)
	v_cvt_pk_bf16_f32 v2, v2, v3
	global_store_dword v[0:1], v2, off
	global_load_dword v3, v[4:5], off
	v_and_b32_e32 v4, 0xffff0000, v2
	v_lshlrev_b32_e32 v2, 16, v2
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v5, 0xffff0000, v3
	v_lshlrev_b32_e32 v3, 16, v3
	v_add_f32_e32 v4, v5, v4
	v_add_f32_e32 v2, v3, v2
	v_cvt_pk_bf16_f32 v2, v2, v4
	global_store_dword v[0:1], v2, off offset:4
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end19:
	.size	__clang_ocl_kern_imp_bfloats, .Lfunc_end19-__clang_ocl_kern_imp_bfloats
                                        ; -- End function
	.set __clang_ocl_kern_imp_bfloats.num_vgpr, 32
	.set __clang_ocl_kern_imp_bfloats.num_agpr, 0
	.set __clang_ocl_kern_imp_bfloats.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_bfloats.num_named_barrier, 0
	.set __clang_ocl_kern_imp_bfloats.private_seg_size, 0
	.set __clang_ocl_kern_imp_bfloats.uses_vcc, 0
	.set __clang_ocl_kern_imp_bfloats.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_bfloats.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_bfloats.has_recursion, 0
	.set __clang_ocl_kern_imp_bfloats.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 160
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.protected	tree_sum                ; -- Begin function tree_sum
	.globl	tree_sum
	.p2align	8
	.type	tree_sum,@function
tree_sum:                               ; @tree_sum
; %bb.0:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshl_or_b32 v2, s2, 8, v0
	v_ashrrev_i32_e32 v3, 31, v2
	s_movk_i32 s0, 0x80
	v_lshlrev_b32_e32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v4, s6
	v_mov_b32_e32 v5, s7
	v_lshl_add_u64 v[2:3], v[2:3], 2, v[4:5]
	global_load_dword v2, v[2:3], off
	v_cmp_gt_u32_e32 vcc, s0, v0
	s_waitcnt vmcnt(0)
	ds_write_b32 v1, v2
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB20_2
; %bb.1:
	ds_read2st64_b32 v[2:3], v1 offset1:2
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB20_2:
	s_or_b64 exec, exec, s[0:1]
	v_cmp_gt_u32_e32 vcc, 64, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB20_4
; %bb.3:
	ds_read2st64_b32 v[2:3], v1 offset1:1
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB20_4:
	s_or_b64 exec, exec, s[0:1]
	v_cmp_gt_u32_e32 vcc, 32, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB20_6
; %bb.5:
	ds_read2_b32 v[2:3], v1 offset1:32
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB20_6:
	s_or_b64 exec, exec, s[0:1]
	v_cmp_gt_u32_e32 vcc, 16, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB20_8
; %bb.7:
	ds_read2_b32 v[2:3], v1 offset1:16
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB20_8:
	s_or_b64 exec, exec, s[0:1]
	v_cmp_gt_u32_e32 vcc, 8, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB20_10
; %bb.9:
	ds_read2_b32 v[2:3], v1 offset1:8
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB20_10:
	s_or_b64 exec, exec, s[0:1]
	v_cmp_gt_u32_e32 vcc, 4, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB20_12
; %bb.11:
	ds_read2_b32 v[2:3], v1 offset1:4
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB20_12:
	s_or_b64 exec, exec, s[0:1]
	v_cmp_gt_u32_e32 vcc, 2, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB20_14
; %bb.13:
	ds_read2_b32 v[2:3], v1 offset1:2
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v1, v2
.LBB20_14:
	s_or_b64 exec, exec, s[0:1]
	s_mov_b32 s3, 0
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB20_16
; %bb.15:
	ds_read2_b32 v[2:3], v1 offset1:1
	s_lshl_b64 s[0:1], s[2:3], 2
	s_add_u32 s0, s4, s0
	s_addc_u32 s1, s5, s1
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v0, v2, v3
	ds_write_b32 v1, v0
	v_mov_b32_e32 v0, 0
	ds_read_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v1, s[0:1]
.LBB20_16:
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel tree_sum
		.amdhsa_group_segment_fixed_size 1024
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end20:
	.size	tree_sum, .Lfunc_end20-tree_sum
                                        ; -- End function
	.set tree_sum.num_vgpr, 6
	.set tree_sum.num_agpr, 0
	.set tree_sum.numbered_sgpr, 8
	.set tree_sum.num_named_barrier, 0
	.set tree_sum.private_seg_size, 0
	.set tree_sum.uses_vcc, 1
	.set tree_sum.uses_flat_scratch, 0
	.set tree_sum.has_dyn_sized_stack, 0
	.set tree_sum.has_recursion, 0
	.set tree_sum.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 492
; TotalNumSgprs: 14
; NumVgprs: 6
; NumAgprs: 0
; TotalNumVgprs: 6
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 1024 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 0
; NumSGPRsForWavesPerEU: 14
; NumVGPRsForWavesPerEU: 6
; AccumOffset: 8
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 1
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_tree_sum ; -- Begin function __clang_ocl_kern_imp_tree_sum
	.globl	__clang_ocl_kern_imp_tree_sum
	.p2align	2
	.type	__clang_ocl_kern_imp_tree_sum,@function
__clang_ocl_kern_imp_tree_sum:          ; @__clang_ocl_kern_imp_tree_sum
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v4, 0x3ff, v31
	v_lshl_or_b32 v6, s12, 8, v4
	v_ashrrev_i32_e32 v7, 31, v6
	v_lshl_add_u64 v[2:3], v[6:7], 2, v[2:3]
	global_load_dword v2, v[2:3], off
	s_movk_i32 s0, 0x80
	v_cmp_gt_u32_e32 vcc, s0, v4
	s_trap 2
	s_waitcnt vmcnt(0)
	ds_write_b32 v0, v2
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB21_2
; %bb.1:
	ds_read2st64_b32 v[2:3], v0 offset1:2
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v0, v2
.LBB21_2:
	s_or_b64 exec, exec, s[0:1]
	v_cmp_gt_u32_e32 vcc, 64, v4
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB21_4
; %bb.3:
	ds_read2st64_b32 v[2:3], v0 offset1:1
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v0, v2
.LBB21_4:
	s_or_b64 exec, exec, s[0:1]
	v_cmp_gt_u32_e32 vcc, 32, v4
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB21_6
; %bb.5:
	ds_read2_b32 v[2:3], v0 offset1:32
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v0, v2
.LBB21_6:
	s_or_b64 exec, exec, s[0:1]
	v_cmp_gt_u32_e32 vcc, 16, v4
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB21_8
; %bb.7:
	ds_read2_b32 v[2:3], v0 offset1:16
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v0, v2
.LBB21_8:
	s_or_b64 exec, exec, s[0:1]
	v_cmp_gt_u32_e32 vcc, 8, v4
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB21_10
; %bb.9:
	ds_read2_b32 v[2:3], v0 offset1:8
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v0, v2
.LBB21_10:
	s_or_b64 exec, exec, s[0:1]
	v_cmp_gt_u32_e32 vcc, 4, v4
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB21_12
; %bb.11:
	ds_read2_b32 v[2:3], v0 offset1:4
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v0, v2
.LBB21_12:
	s_or_b64 exec, exec, s[0:1]
	v_cmp_gt_u32_e32 vcc, 2, v4
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB21_14
; %bb.13:
	ds_read2_b32 v[2:3], v0 offset1:2
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v0, v2
.LBB21_14:
	s_or_b64 exec, exec, s[0:1]
	s_mov_b32 s13, 0
	v_cmp_eq_u32_e32 vcc, 0, v4
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB21_16
; %bb.15:
	ds_read2_b32 v[2:3], v0 offset1:1
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v3
	ds_write_b32 v0, v2
	s_trap 2
	ds_read_b32 v2, v0
	v_lshl_add_u64 v[0:1], s[12:13], 2, v[0:1]
	s_waitcnt lgkmcnt(0)
	global_store_dword v[0:1], v2, off
.LBB21_16:
	s_or_b64 exec, exec, s[0:1]
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end21:
	.size	__clang_ocl_kern_imp_tree_sum, .Lfunc_end21-__clang_ocl_kern_imp_tree_sum
                                        ; -- End function
	.set __clang_ocl_kern_imp_tree_sum.num_vgpr, 32
	.set __clang_ocl_kern_imp_tree_sum.num_agpr, 0
	.set __clang_ocl_kern_imp_tree_sum.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_tree_sum.num_named_barrier, 0
	.set __clang_ocl_kern_imp_tree_sum.private_seg_size, 0
	.set __clang_ocl_kern_imp_tree_sum.uses_vcc, 1
	.set __clang_ocl_kern_imp_tree_sum.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_tree_sum.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_tree_sum.has_recursion, 0
	.set __clang_ocl_kern_imp_tree_sum.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 488
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.protected	wave_sum                ; -- Begin function wave_sum
	.globl	wave_sum
	.p2align	8
	.type	wave_sum,@function
wave_sum:                               ; @wave_sum
; %bb.0:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshl_or_b32 v2, s2, 8, v0
	v_ashrrev_i32_e32 v3, 31, v2
	v_and_b32_e32 v0, 63, v0
	v_lshlrev_b32_e32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v4, s6
	v_mov_b32_e32 v5, s7
	v_lshl_add_u64 v[4:5], v[2:3], 2, v[4:5]
	global_load_dword v6, v[4:5], off
	v_lshlrev_b32_e32 v0, 2, v2
	v_xor_b32_e32 v2, 64, v1
	v_xor_b32_e32 v7, 0x80, v1
	v_mov_b32_e32 v3, s5
	s_waitcnt vmcnt(0)
	v_add_u32_dpp v1, v6, v6 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_nop 1
	v_add_u32_dpp v1, v1, v1 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_nop 1
	v_add_u32_dpp v1, v1, v1 row_half_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_nop 1
	v_add_u32_dpp v8, v1, v1 row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	ds_bpermute_b32 v9, v2, v8
	v_ashrrev_i32_e32 v1, 31, v0
	v_mov_b32_e32 v2, s4
	v_lshl_add_u64 v[0:1], v[0:1], 2, v[2:3]
	v_and_b32_e32 v3, 1, v6
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v8, v9
	ds_bpermute_b32 v7, v7, v2
	v_cmp_ne_u32_e32 vcc, 0, v3
	s_bcnt1_i32_b64 s0, vcc
	v_mov_b32_e32 v3, s0
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v2, v7
	global_store_dwordx2 v[0:1], v[2:3], off
	global_load_dword v2, v[4:5], off
	s_waitcnt vmcnt(0)
	v_readlane_b32 s0, v2, 5
	v_readfirstlane_b32 s1, v2
	s_add_i32 s0, s1, s0
	v_mov_b32_e32 v2, s0
	global_store_dword v[0:1], v2, off offset:8
	global_load_dword v2, v[4:5], off
	s_waitcnt vmcnt(0)
	ds_swizzle_b32 v2, v2 offset:swizzle(SWAP,16)
	s_waitcnt lgkmcnt(0)
	global_store_dword v[0:1], v2, off offset:12
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel wave_sum
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 10
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 12
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end22:
	.size	wave_sum, .Lfunc_end22-wave_sum
                                        ; -- End function
	.set wave_sum.num_vgpr, 10
	.set wave_sum.num_agpr, 0
	.set wave_sum.numbered_sgpr, 8
	.set wave_sum.num_named_barrier, 0
	.set wave_sum.private_seg_size, 0
	.set wave_sum.uses_vcc, 1
	.set wave_sum.uses_flat_scratch, 0
	.set wave_sum.has_dyn_sized_stack, 0
	.set wave_sum.has_recursion, 0
	.set wave_sum.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 272
; TotalNumSgprs: 14
; NumVgprs: 10
; NumAgprs: 0
; TotalNumVgprs: 10
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 1
; NumSGPRsForWavesPerEU: 14
; NumVGPRsForWavesPerEU: 10
; AccumOffset: 12
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 2
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_wave_sum ; -- Begin function __clang_ocl_kern_imp_wave_sum
	.globl	__clang_ocl_kern_imp_wave_sum
	.p2align	2
	.type	__clang_ocl_kern_imp_wave_sum,@function
__clang_ocl_kern_imp_wave_sum:          ; @__clang_ocl_kern_imp_wave_sum
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v6, 0x3ff, v31
	v_lshl_or_b32 v4, s12, 8, v6
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshl_add_u64 v[2:3], v[4:5], 2, v[2:3]
	global_load_dword v7, v[2:3], off
	v_and_b32_e32 v5, 63, v6
	v_lshlrev_b32_e32 v5, 2, v5
	v_xor_b32_e32 v6, 64, v5
	v_lshlrev_b32_e32 v4, 2, v4
	v_xor_b32_e32 v9, 0x80, v5
	v_ashrrev_i32_e32 v5, 31, v4
	v_lshl_add_u64 v[0:1], v[4:5], 2, v[0:1]
	s_waitcnt vmcnt(0)
	v_add_u32_dpp v8, v7, v7 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_nop 1
	v_add_u32_dpp v8, v8, v8 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_and_b32_e32 v5, 1, v7
	v_cmp_ne_u32_e32 vcc, 0, v5
	v_add_u32_dpp v8, v8, v8 row_half_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	s_bcnt1_i32_b64 s0, vcc
	v_mov_b32_e32 v5, s0
	v_add_u32_dpp v8, v8, v8 row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
	ds_bpermute_b32 v6, v6, v8
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v4, v8, v6
	ds_bpermute_b32 v6, v9, v4
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v4, v4, v6
	global_store_dwordx2 v[0:1], v[4:5], off
	global_load_dword v4, v[2:3], off
	s_waitcnt vmcnt(0)
	v_readlane_b32 s0, v4, 5
	v_readfirstlane_b32 s1, v4
	s_add_i32 s0, s1, s0
	v_mov_b32_e32 v4, s0
	global_store_dword v[0:1], v4, off offset:8
	global_load_dword v2, v[2:3], off
	s_waitcnt vmcnt(0)
	ds_swizzle_b32 v2, v2 offset:swizzle(SWAP,16)
	s_waitcnt lgkmcnt(0)
	global_store_dword v[0:1], v2, off offset:12
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end23:
	.size	__clang_ocl_kern_imp_wave_sum, .Lfunc_end23-__clang_ocl_kern_imp_wave_sum
                                        ; -- End function
	.set __clang_ocl_kern_imp_wave_sum.num_vgpr, 32
	.set __clang_ocl_kern_imp_wave_sum.num_agpr, 0
	.set __clang_ocl_kern_imp_wave_sum.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_wave_sum.num_named_barrier, 0
	.set __clang_ocl_kern_imp_wave_sum.private_seg_size, 0
	.set __clang_ocl_kern_imp_wave_sum.uses_vcc, 1
	.set __clang_ocl_kern_imp_wave_sum.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_wave_sum.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_wave_sum.has_recursion, 0
	.set __clang_ocl_kern_imp_wave_sum.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 252
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.protected	histogram               ; -- Begin function histogram
	.globl	histogram
	.p2align	8
	.type	histogram,@function
histogram:                              ; @histogram
; %bb.0:
	v_cmp_gt_u32_e32 vcc, 16, v0
	v_lshlrev_b32_e32 v2, 2, v0
	s_and_saveexec_b64 s[4:5], vcc
; %bb.1:
	v_mov_b32_e32 v1, 0
	ds_write_b32 v2, v1
; %bb.2:
	s_or_b64 exec, exec, s[4:5]
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	v_lshl_or_b32 v0, s2, 8, v0
	v_ashrrev_i32_e32 v1, 31, v0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v4, s6
	v_mov_b32_e32 v5, s7
	v_lshl_add_u64 v[0:1], v[0:1], 2, v[4:5]
	s_barrier
	global_load_dword v3, v[0:1], off
	v_mov_b32_e32 v4, 1
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v3, 15, v3
	v_lshlrev_b32_e32 v3, 2, v3
	ds_add_u32 v3, v4
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB24_4
; %bb.3:
	ds_read_b32 v3, v2
	s_waitcnt lgkmcnt(0)
	global_atomic_add v2, v3, s[4:5]
.LBB24_4:
	s_or_b64 exec, exec, s[0:1]
	global_load_dword v0, v[0:1], off
	s_mov_b64 s[0:1], exec
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v0, 15, v0
	v_cvt_f32_ubyte0_e32 v1, v0
	v_bfrev_b32_e32 v0, 1
.LBB24_5:                               ; =>This Inner Loop Header: Depth=1
	s_ff1_i32_b64 s2, s[0:1]
	v_readlane_b32 s4, v1, s2
	s_lshl_b64 s[2:3], 1, s2
	s_andn2_b64 s[0:1], s[0:1], s[2:3]
	v_add_f32_e32 v0, s4, v0
	s_cbranch_scc1 .LBB24_5
; %bb.6:
	v_mbcnt_lo_u32_b32 v1, exec_lo, 0
	v_mbcnt_hi_u32_b32 v1, exec_hi, v1
	v_cmp_eq_u32_e32 vcc, 0, v1
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[0:1], exec, s[0:1]
	s_cbranch_execz .LBB24_8
; %bb.7:
	v_mov_b32_e32 v1, 0
	global_atomic_add_f32 v1, v0, s[8:9]
.LBB24_8:
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel histogram
		.amdhsa_group_segment_fixed_size 64
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 10
		.amdhsa_accum_offset 8
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end24:
	.size	histogram, .Lfunc_end24-histogram
                                        ; -- End function
	.set histogram.num_vgpr, 6
	.set histogram.num_agpr, 0
	.set histogram.numbered_sgpr, 10
	.set histogram.num_named_barrier, 0
	.set histogram.private_seg_size, 0
	.set histogram.uses_vcc, 1
	.set histogram.uses_flat_scratch, 0
	.set histogram.has_dyn_sized_stack, 0
	.set histogram.has_recursion, 0
	.set histogram.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 256
; TotalNumSgprs: 16
; NumVgprs: 6
; NumAgprs: 0
; TotalNumVgprs: 6
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 64 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 0
; NumSGPRsForWavesPerEU: 16
; NumVGPRsForWavesPerEU: 6
; AccumOffset: 8
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 1
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_histogram ; -- Begin function __clang_ocl_kern_imp_histogram
	.globl	__clang_ocl_kern_imp_histogram
	.p2align	2
	.type	__clang_ocl_kern_imp_histogram,@function
__clang_ocl_kern_imp_histogram:         ; @__clang_ocl_kern_imp_histogram
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v6, 0x3ff, v31
	v_cmp_gt_u32_e32 vcc, 16, v6
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB25_2
; %bb.1:
	v_mov_b32_e32 v7, 0
	s_trap 2
	ds_write_b32 v0, v7
.LBB25_2:
	s_or_b64 exec, exec, s[0:1]
	v_mov_b32_e32 v7, 1
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_trap 2
	ds_add_u32 v0, v7
	v_lshl_add_u32 v8, s12, 8, v6
	v_ashrrev_i32_e32 v9, 31, v8
	v_lshl_add_u64 v[2:3], v[8:9], 2, v[2:3]
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB25_4
; %bb.3:
	s_trap 2
	ds_read_b32 v8, v0
	v_lshlrev_b32_e32 v6, 2, v6
	v_mov_b32_e32 v7, 0
	v_lshl_add_u64 v[0:1], v[0:1], 0, v[6:7]
	s_waitcnt lgkmcnt(0)
	global_atomic_add v[0:1], v8, off
.LBB25_4:
	s_or_b64 exec, exec, s[0:1]
	global_load_dword v0, v[2:3], off
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v0, 15, v0
	v_cvt_f32_ubyte0_e32 v0, v0
	global_atomic_add_f32 v[4:5], v0, off
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end25:
	.size	__clang_ocl_kern_imp_histogram, .Lfunc_end25-__clang_ocl_kern_imp_histogram
                                        ; -- End function
	.set __clang_ocl_kern_imp_histogram.num_vgpr, 32
	.set __clang_ocl_kern_imp_histogram.num_agpr, 0
	.set __clang_ocl_kern_imp_histogram.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_histogram.num_named_barrier, 0
	.set __clang_ocl_kern_imp_histogram.private_seg_size, 0
	.set __clang_ocl_kern_imp_histogram.uses_vcc, 1
	.set __clang_ocl_kern_imp_histogram.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_histogram.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_histogram.has_recursion, 0
	.set __clang_ocl_kern_imp_histogram.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 184
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.protected	positions               ; -- Begin function positions
	.globl	positions
	.p2align	8
	.type	positions,@function
positions:                              ; @positions
; %bb.0:
	v_and_b32_e32 v1, 0x3ff, v0
	v_lshl_or_b32 v2, s2, 3, v1
	v_bfe_u32 v1, v0, 10, 10
	v_bfe_u32 v0, v0, 20, 10
	v_lshl_or_b32 v3, s3, 2, v1
	v_lshl_or_b32 v4, s4, 1, v0
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dword s3, s[0:1], 0x10
	s_movk_i32 s2, 0x3e8
	v_mad_u64_u32 v[0:1], s[0:1], v3, s2, v[2:3]
	s_mov_b32 s0, 0xf4240
	s_nop 0
	v_mul_lo_u32 v1, v4, s0
	s_waitcnt lgkmcnt(0)
	s_mul_i32 s3, s3, 0x989680
	v_add3_u32 v5, v0, v1, s3
	v_mul_lo_u32 v0, v4, s7
	v_lshl_add_u32 v0, v0, 2, v3
	v_mul_lo_u32 v0, s6, v0
	v_lshl_add_u32 v0, v0, 3, v2
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshl_add_u64 v[0:1], v[0:1], 2, s[4:5]
	global_store_dword v[0:1], v5, off
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel positions
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 264
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 8
		.amdhsa_accum_offset 8
		.amdhsa_reserve_vcc 0
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end26:
	.size	positions, .Lfunc_end26-positions
                                        ; -- End function
	.set positions.num_vgpr, 6
	.set positions.num_agpr, 0
	.set positions.numbered_sgpr, 8
	.set positions.num_named_barrier, 0
	.set positions.private_seg_size, 0
	.set positions.uses_vcc, 0
	.set positions.uses_flat_scratch, 0
	.set positions.has_dyn_sized_stack, 0
	.set positions.has_recursion, 0
	.set positions.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 172
; TotalNumSgprs: 14
; NumVgprs: 6
; NumAgprs: 0
; TotalNumVgprs: 6
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 0
; NumSGPRsForWavesPerEU: 14
; NumVGPRsForWavesPerEU: 6
; AccumOffset: 8
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 2
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 1
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 2
; COMPUTE_PGM_RSRC3_GFX90A:ACCUM_OFFSET: 1
; COMPUTE_PGM_RSRC3_GFX90A:TG_SPLIT: 0
	.text
	.protected	__clang_ocl_kern_imp_positions ; -- Begin function __clang_ocl_kern_imp_positions
	.globl	__clang_ocl_kern_imp_positions
	.p2align	2
	.type	__clang_ocl_kern_imp_positions,@function
__clang_ocl_kern_imp_positions:         ; @__clang_ocl_kern_imp_positions
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	s_load_dwordx2 s[0:1], s[8:9], 0x0
	s_load_dword s4, s[8:9], 0x8
	v_and_b32_e32 v2, 0x3ff, v31
	v_bfe_u32 v3, v31, 10, 10
	v_lshl_or_b32 v2, s12, 3, v2
	v_lshl_or_b32 v3, s13, 2, v3
	v_bfe_u32 v4, v31, 20, 10
	s_movk_i32 s2, 0x3e8
	v_lshl_or_b32 v6, s14, 1, v4
	v_mad_u64_u32 v[4:5], s[2:3], v3, s2, v[2:3]
	s_mov_b32 s2, 0xf4240
	s_nop 0
	v_mul_lo_u32 v5, v6, s2
	s_waitcnt lgkmcnt(0)
	s_mul_i32 s4, s4, 0x989680
	v_add3_u32 v4, v4, v5, s4
	v_mul_lo_u32 v5, v6, s1
	v_lshl_add_u32 v3, v5, 2, v3
	v_mul_lo_u32 v3, s0, v3
	v_lshl_add_u32 v2, v3, 3, v2
	v_ashrrev_i32_e32 v3, 31, v2
	v_lshl_add_u64 v[0:1], v[2:3], 2, v[0:1]
	global_store_dword v[0:1], v4, off
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end27:
	.size	__clang_ocl_kern_imp_positions, .Lfunc_end27-__clang_ocl_kern_imp_positions
                                        ; -- End function
	.set __clang_ocl_kern_imp_positions.num_vgpr, 32
	.set __clang_ocl_kern_imp_positions.num_agpr, 0
	.set __clang_ocl_kern_imp_positions.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_positions.num_named_barrier, 0
	.set __clang_ocl_kern_imp_positions.private_seg_size, 0
	.set __clang_ocl_kern_imp_positions.uses_vcc, 0
	.set __clang_ocl_kern_imp_positions.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_positions.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_positions.has_recursion, 0
	.set __clang_ocl_kern_imp_positions.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 180
; TotalNumSgprs: 38
; NumVgprs: 32
; NumAgprs: 0
; TotalNumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.p2alignl 6, 3212836864
	.fill 256, 4, 3212836864
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 32
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 32
	.set amdgpu.max_num_named_barrier, 0
	.text
	.section	".note.GNU-stack","",@progbits
	.addrsig
	.addrsig_sym histogram.local_bins
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         16
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           integer_division
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     12
    .sgpr_spill_count: 0
    .symbol:         integer_division.kd
    .uses_dynamic_stack: false
    .vgpr_count:     14
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'long*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'long*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         16
        .size:           8
        .type_name:      'long*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           long_division
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         long_division.kd
    .uses_dynamic_stack: false
    .vgpr_count:     22
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         16
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           float_division
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         float_division.kd
    .uses_dynamic_stack: false
    .vgpr_count:     6
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'double*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'double*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         16
        .size:           8
        .type_name:      'double*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           double_division
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         double_division.kd
    .uses_dynamic_stack: false
    .vgpr_count:     18
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           square_root
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     14
    .sgpr_spill_count: 0
    .symbol:         square_root.kd
    .uses_dynamic_stack: false
    .vgpr_count:     4
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           collatz
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     18
    .sgpr_spill_count: 0
    .symbol:         collatz.kd
    .uses_dynamic_stack: false
    .vgpr_count:     6
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         16
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           conversions
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         conversions.kd
    .uses_dynamic_stack: false
    .vgpr_count:     9
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'uchar*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'uchar*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         16
        .size:           8
        .type_name:      'short*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           bytes
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         bytes.kd
    .uses_dynamic_stack: false
    .vgpr_count:     7
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'f16x2*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'f16x2*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         16
        .size:           8
        .type_name:      'f16x2*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           halves
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         halves.kd
    .uses_dynamic_stack: false
    .vgpr_count:     10
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'bf16x2*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         16
        .size:           8
        .type_name:      'bf16x2*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           bfloats
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         bfloats.kd
    .uses_dynamic_stack: false
    .vgpr_count:     6
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 1024
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           tree_sum
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     14
    .sgpr_spill_count: 0
    .symbol:         tree_sum.kd
    .uses_dynamic_stack: false
    .vgpr_count:     6
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           wave_sum
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     14
    .sgpr_spill_count: 0
    .symbol:         wave_sum.kd
    .uses_dynamic_stack: false
    .vgpr_count:     10
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         16
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
    .group_segment_fixed_size: 64
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 256
    .name:           histogram
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         histogram.kd
    .uses_dynamic_stack: false
    .vgpr_count:     6
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .offset:         8
        .size:           4
        .value_kind:     hidden_block_count_x
      - .offset:         12
        .size:           4
        .value_kind:     hidden_block_count_y
      - .offset:         16
        .size:           4
        .value_kind:     hidden_block_count_z
      - .offset:         20
        .size:           2
        .value_kind:     hidden_group_size_x
      - .offset:         22
        .size:           2
        .value_kind:     hidden_group_size_y
      - .offset:         24
        .size:           2
        .value_kind:     hidden_group_size_z
      - .offset:         26
        .size:           2
        .value_kind:     hidden_remainder_x
      - .offset:         28
        .size:           2
        .value_kind:     hidden_remainder_y
      - .offset:         30
        .size:           2
        .value_kind:     hidden_remainder_z
      - .offset:         48
        .size:           8
        .value_kind:     hidden_global_offset_x
      - .offset:         56
        .size:           8
        .value_kind:     hidden_global_offset_y
      - .offset:         64
        .size:           8
        .value_kind:     hidden_global_offset_z
      - .offset:         72
        .size:           2
        .value_kind:     hidden_grid_dims
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 264
    .language:       OpenCL C
    .language_version:
      - 2
      - 0
    .max_flat_workgroup_size: 64
    .name:           positions
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 8
      - 4
      - 2
    .sgpr_count:     14
    .sgpr_spill_count: 0
    .symbol:         positions.kd
    .uses_dynamic_stack: false
    .vgpr_count:     6
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx950
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
