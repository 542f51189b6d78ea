! SPDX-License-Identifier: Apache-2.0
!> Heat that spreads over a square plate, whose left edge is hot (1) and whose other edges are cold
!> (0): Jacobi's method, until no cell changes by more than a limit.
!>
!>     hvdrun -np 4 heat [CELLS [LIMIT]]      CELLS x CELLS cells (100), LIMIT 1e-4
!>
!> Each rank has some columns of the plate, which are contiguous in memory, and one column more on
!> each side, the halo: the edge columns of its neighbours. Ranks exchange them with hvd_alltoall():
!> a rank sends one column to the rank on its left, one to the rank on its right, and nothing to
!> others. hvd_allreduce() finds the largest change of all ranks. The result is the same to the bit
!> on any number of ranks.
program heat
    use hvd
    use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
    implicit none
    integer :: cells, rank, ranks, first, last, mine, step
    real(real64) :: limit, change
    real(real64), allocatable :: plate(:, :), next(:, :), whole(:)

    call read_arguments()
    call hvd_init()
    rank = hvd_rank()
    ranks = hvd_size()
    if (ranks > cells) call give_up('heat: there are more ranks than columns')
    first = cells * rank / ranks + 1
    last = cells * (rank + 1) / ranks
    mine = last - first + 1

    ! Column 0 and column mine + 1 are the halo; rows 0 and cells + 1 are edges of the plate.
    allocate (plate(0:cells + 1, 0:mine + 1), source=0.0_real64)
    if (rank == 0) plate(:, 0) = 1
    allocate (next, source=plate)

    step = 0
    change = huge(change)
    do while (change > limit)
        call exchange_halo()
        next(1:cells, 1:mine) = (plate(0:cells - 1, 1:mine) + plate(2:cells + 1, 1:mine) &
            + plate(1:cells, 0:mine - 1) + plate(1:cells, 2:mine + 1)) / 4
        change = maxval(abs(next(1:cells, 1:mine) - plate(1:cells, 1:mine)))
        call hvd_allreduce('change', change, HVD_MAX)
        plate(1:cells, 1:mine) = next(1:cells, 1:mine)
        step = step + 1
    end do

    call hvd_allgather('plate', plate(1:cells, 1:mine), whole)
    if (rank == 0) print '(a, i0, a, i0, a, f0.12, a, f0.12)', 'heat: ranks=', ranks, ' steps=', step, &
        ' mean=', sum(whole) / size(whole), ' middle=', whole(cells * (cells / 2) + (cells + 1) / 2)
    call hvd_shutdown()

contains

    !> One message to each neighbour: splits are 0 for all other ranks.
    subroutine exchange_halo()
        integer(int64) :: splits(ranks)
        real(real64), allocatable :: sent(:), came(:)
        splits = 0
        allocate (sent(0))
        if (rank > 0) then
            splits(rank) = cells
            sent = [sent, plate(1:cells, 1)]
        end if
        if (rank < ranks - 1) then
            splits(rank + 2) = cells
            sent = [sent, plate(1:cells, mine)]
        end if
        call hvd_alltoall('halo', sent, splits, came)
        if (rank > 0) plate(1:cells, 0) = came(1:cells)
        if (rank < ranks - 1) plate(1:cells, mine + 1) = came(size(came) - cells + 1:)
    end subroutine

    subroutine read_arguments()
        character(len=32) :: word
        integer :: bad
        cells = 100
        limit = 1e-4_real64
        bad = 0
        if (command_argument_count() >= 1) then
            call get_command_argument(1, word)
            read (word, *, iostat=bad) cells
            if (bad /= 0 .or. cells < 1 .or. cells > 10000) &
                call give_up("heat: CELLS is '"//trim(word)//"', expected 1 to 10000")
        end if
        if (command_argument_count() >= 2) then
            call get_command_argument(2, word)
            read (word, *, iostat=bad) limit
            if (bad /= 0 .or. .not. limit > 0) &
                call give_up("heat: LIMIT is '"//trim(word)//"', expected a number above 0")
        end if
    end subroutine

    subroutine give_up(text)
        character(len=*), intent(in) :: text
        write (error_unit, '(a)') text
        stop 2, quiet=.true.
    end subroutine
end program heat
